#include "autobatch/memory/ultralytics.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/memory/polyfit.h"
#include "autobatch/memory/python_numbers.h"

namespace autobatch {
namespace {

struct Estimate {
  Line line;
  // An integer of any size.
  double batch = 0;
};

std::vector<double> Logarithms(std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  return values;
}

absl::StatusOr<Estimate> Solve(const std::vector<int64_t>& sizes,
                               const std::vector<std::optional<double>>& memory, double total,
                               double room) {
  const UsablePoints points = SelectUsable(sizes, memory, total);
  Estimate estimate;
  AB_ASSIGN_OR_RETURN(estimate.line, FitLine(Logarithms(points.batch), Logarithms(points.memory)));
  AB_ASSIGN_OR_RETURN(
      estimate.batch,
      PythonRound(std::exp((std::log(room) - estimate.line.intercept) / estimate.line.slope)));
  estimate.batch = BelowFirstFailure(estimate.batch, sizes, memory);
  return estimate;
}

// The first character, which is a digit of an ordinal only by luck: "GPU-…" gives "G".
absl::StatusOr<std::string> DeviceLabel(const SeedReadings& readings) {
  if (!readings.cuda_visible_devices.has_value()) return std::string("CUDA:0");
  const absl::string_view list = absl::StripAsciiWhitespace(*readings.cuda_visible_devices);
  if (list.empty()) {
    return absl::InvalidArgumentError("CUDA_VISIBLE_DEVICES is empty: no device to name");
  }
  // A character may be several bytes of UTF-8.
  size_t length = 1;
  while (length < list.size() && (static_cast<unsigned char>(list[length]) & 0xC0) == 0x80) {
    ++length;
  }
  return absl::StrCat("CUDA:", list.substr(0, length));
}

SeedAnswer FallBack(SeedAnswer answer, const absl::Status& error, int64_t default_batch) {
  LogTo(answer, LogLevel::kWarning,
        absl::StrCat("WARNING ⚠️ error detected: ", error.message(), ",  using default batch-size ",
                     default_batch, "."));
  answer.batch = default_batch;
  return answer;
}

}  // namespace

SeedAnswer UltralyticsAutoBatch(const UltralyticsOptions& options, const SeedReadings& readings,
                                ProfileFunction profile) {
  SeedAnswer answer;
  LogTo(answer, LogLevel::kInfo,
        absl::StrCat("Computing optimal batch size for imgsz=", options.image_size, " at ",
                     PythonRepr(options.fraction * 100), "% CUDA memory utilization."));
  const absl::string_view type = DeviceType(readings.device);
  if (type == "cpu" || type == "mps") {
    return AnswerDefault(std::move(answer), LogLevel::kInfo,
                         " ⚠️ intended for CUDA devices, using default batch-size ",
                         options.default_batch);
  }
  if (readings.cudnn_benchmark) {
    return AnswerDefault(
        std::move(answer), LogLevel::kInfo,
        " ⚠️ Requires torch.backends.cudnn.benchmark=False, using default batch-size ",
        options.default_batch);
  }

  const absl::StatusOr<std::string> device = DeviceLabel(readings);
  if (!device.ok()) {
    answer.batch = device.status();
    return answer;
  }
  const double total = Gib(readings.total_bytes);
  const double reserved = Gib(readings.reserved_bytes);
  const double allocated = Gib(readings.allocated_bytes);
  LogTo(answer, LogLevel::kInfo, MemoryLine(*device, readings));

  const ProfileRequest request = {.batch_sizes = UltralyticsBatchSizes(total),
                                  .repetitions = 1,
                                  .image_size = options.image_size,
                                  .max_num_obj = options.max_num_obj,
                                  .autocast = options.autocast};
  const Profile profiled = RunProfiler(profile, request, answer);
  if (absl::Status status = CheckProfile(request, profiled); !status.ok()) {
    return FallBack(std::move(answer), status, options.default_batch);
  }
  const absl::StatusOr<Estimate> estimate =
      Solve(request.batch_sizes, profiled.memory, total, FreeGib(readings) * options.fraction);
  if (!estimate.ok()) {
    return FallBack(std::move(answer), estimate.status(), options.default_batch);
  }

  int64_t batch = options.default_batch;
  if (estimate->batch < 1 || estimate->batch > kSeedMaxBatch) {
    LogTo(answer, LogLevel::kInfo,
          absl::StrCat("WARNING ⚠️ batch=", PythonFixed(estimate->batch, 0),
                       " outside safe range, using default batch-size ", batch, "."));
  } else {
    batch = static_cast<int64_t>(estimate->batch);
  }
  const double predicted = std::exp(estimate->line.At(std::log(static_cast<double>(batch))));
  const double share = (predicted + reserved + allocated) / total;
  LogTo(answer, LogLevel::kInfo, UsingLine(batch, *device, total, share));
  answer.batch = batch;
  return answer;
}

SeedAnswer UltralyticsCheckTrainBatchSize(const UltralyticsCheckOptions& options,
                                          const SeedReadings& readings, ProfileFunction profile) {
  return UltralyticsAutoBatch({.image_size = options.image_size,
                               .fraction = FractionOfBatchArgument(options.batch),
                               .max_num_obj = options.max_num_obj,
                               .autocast = options.amp},
                              readings, profile);
}

}  // namespace autobatch
