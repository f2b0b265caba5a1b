#include "autobatch/worker/trial_failure.h"

#include <c10/util/Exception.h>

#include <exception>
#include <new>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "autobatch/types/failure_text.h"

namespace autobatch {
namespace {

// From here on libraries that allocate behind the allocator's back find nothing, or fail in words
// that do not name memory.
constexpr double kNearlyFull = 0.9;
constexpr int64_t kNearlyNothing = int64_t{256} << 20;

bool NearlyFull(const DeviceMemory& memory, std::optional<int64_t> budget) {
  try {
    if (budget.has_value() && static_cast<double>(memory.Peak().reserved_bytes) >=
                                  kNearlyFull * static_cast<double>(*budget)) {
      return true;
    }
    const std::optional<int64_t> free = memory.Query().free_bytes;
    return free.has_value() && *free < kNearlyNothing;
  } catch (const std::exception&) {
    return false;  // The device is lost: that is another failure.
  }
}

std::string Advice(FailureKind kind, absl::string_view text) {
  if (kind == FailureKind::kIllegalAccess) {
    return "The device refused an access; memory is not the reason. Run the model alone with "
           "CUDA_LAUNCH_BLOCKING=1 to see which operator.";
  }
  if (kind == FailureKind::kModelError &&
      absl::StrContains(text, "Expected more than 1 value per channel when training")) {
    return "Batch norm cannot train on one sample: use a batch of at least 2.";
  }
  if (absl::StrContains(text, kNoKernelImage)) return std::string(kNoKernelAdvice);
  if (kind == FailureKind::kModelError) return "The model or its loss raised this, at any batch.";
  return "";
}

}  // namespace

Failure DescribeCaught(const DeviceMemory& memory, const TrialPlace& place) {
  std::string text = "an exception of no known type";
  bool typed_out_of_memory = false;
  bool host_out_of_memory = false;
  try {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    text = error.what_without_backtrace();
    typed_out_of_memory = true;
  } catch (const c10::Error& error) {
    text = error.what_without_backtrace();
  } catch (const std::bad_alloc&) {
    text = "std::bad_alloc: the host has no memory left for the trial itself.";
    host_out_of_memory = true;
  } catch (const std::exception& error) {
    text = error.what();
  } catch (...) {
  }

  Failure failure;
  failure.requested_bytes = memory.RefusedBytes();
  if (failure.requested_bytes.has_value() || typed_out_of_memory) {
    failure.kind = FailureKind::kOutOfMemory;
  } else if (host_out_of_memory) {
    failure.kind = FailureKind::kHostOutOfMemory;
  } else {
    failure.kind = ClassifyErrorText(text, NearlyFull(memory, place.budget_bytes));
  }
  if (!failure.requested_bytes.has_value()) failure.requested_bytes = RequestedBytesInText(text);
  failure.message = ErrorSummary(text);
  failure.advice = Advice(failure.kind, text);
  failure.phase = place.phase;
  if (place.step > 0) failure.step = place.step;
  return failure;
}

}  // namespace autobatch
