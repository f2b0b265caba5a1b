#include "autobatch/types/failure_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "autobatch/base/units.h"

namespace autobatch {
namespace {

constexpr size_t kMaxSummary = 400;

struct Rule {
  // Lower case.
  absl::string_view words;
  FailureKind kind;
  // Holds only when memory was nearly full.
  bool needs_nearly_full = false;
};

// The first that matches decides: a device's out-of-memory error comes before the host's, whose
// Python name ("MemoryError") is part of the device's ("OutOfMemoryError").
constexpr Rule kRules[] = {
    {"out of memory. tried to allocate", FailureKind::kOutOfMemory},
    {"cuda error: out of memory", FailureKind::kOutOfMemory},
    {"cuda driver error: out of memory", FailureKind::kOutOfMemory},
    {"cudaerrormemoryallocation", FailureKind::kOutOfMemory},
    {"cuda_error_out_of_memory", FailureKind::kOutOfMemory},
    {"cuda out of memory", FailureKind::kOutOfMemory},
    {"hip out of memory", FailureKind::kOutOfMemory},
    {"outofmemoryerror", FailureKind::kOutOfMemory},

    {"internal_error_host_allocation_failed", FailureKind::kHostOutOfMemory},
    {"defaultcpuallocator", FailureKind::kHostOutOfMemory},
    {"cannot allocate memory", FailureKind::kHostOutOfMemory},
    {"can't allocate memory", FailureKind::kHostOutOfMemory},
    {"std::bad_alloc", FailureKind::kHostOutOfMemory},
    {"memoryerror", FailureKind::kHostOutOfMemory},
    {"insufficient shared memory", FailureKind::kHostOutOfMemory},
    {"is killed by signal: killed", FailureKind::kHostOutOfMemory},

    // Not "device-side assert" alone: the hint below every CUDA error speaks of device-side
    // assertions.
    {"device-side assert triggered", FailureKind::kIllegalAccess},
    {"illegal memory access", FailureKind::kIllegalAccess},
    {"cudaerrorillegaladdress", FailureKind::kIllegalAccess},
    {"illegal instruction was encountered", FailureKind::kIllegalAccess},
    {"misaligned address", FailureKind::kIllegalAccess},
    {"unspecified launch failure", FailureKind::kIllegalAccess},
    {"invalid program counter", FailureKind::kIllegalAccess},
    {"hardware stack error", FailureKind::kIllegalAccess},
    {"uncorrectable ecc error", FailureKind::kIllegalAccess},
    {"gpu is lost", FailureKind::kIllegalAccess},
    // What the runtime says of a device that no longer answers.
    {"cuda error: unknown error", FailureKind::kIllegalAccess},
    {"fallen off the bus", FailureKind::kIllegalAccess},
    {"nvrm: xid", FailureKind::kIllegalAccess},
    // More elements than a kernel's 32-bit index or grid can name: also no matter of memory.
    {"32bitindexmath", FailureKind::kIllegalAccess},
    {"32-bit index math", FailureKind::kIllegalAccess},
    {"32-bit indexing", FailureKind::kIllegalAccess},
    {"more than int_max elements", FailureKind::kIllegalAccess},
    {"invalid configuration argument", FailureKind::kIllegalAccess},

    // CUBLAS_, CUDNN_, CUSOLVER_STATUS_ALLOC_FAILED, CUFFT_ALLOC_FAILED, and cuDNN 9's
    // CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED.
    {"_alloc_failed", FailureKind::kSuspectedOutOfMemory},
    {"device_allocation_failed", FailureKind::kSuspectedOutOfMemory},
    {"cublas_status_", FailureKind::kSuspectedOutOfMemory, true},
    {"cudnn_status_", FailureKind::kSuspectedOutOfMemory, true},
    {"cusolver_status_", FailureKind::kSuspectedOutOfMemory, true},
    {"cusparse_status_", FailureKind::kSuspectedOutOfMemory, true},
    {"cufft_", FailureKind::kSuspectedOutOfMemory, true},
    {"find was unable to find an engine", FailureKind::kSuspectedOutOfMemory, true},
    {"get was unable to find an engine", FailureKind::kSuspectedOutOfMemory, true},
    {"unable to find a valid cudnn algorithm", FailureKind::kSuspectedOutOfMemory, true},
    {"no valid execution plans", FailureKind::kSuspectedOutOfMemory, true},
    {"device not ready", FailureKind::kSuspectedOutOfMemory, true},
    {"unhandled cuda error", FailureKind::kSuspectedOutOfMemory, true},
    {"internal assert failed", FailureKind::kSuspectedOutOfMemory, true},
};

}  // namespace

std::optional<FailureKind> FindErrorInText(absl::string_view text, bool nearly_full) {
  const std::string lower = absl::AsciiStrToLower(text);
  for (const Rule& rule : kRules) {
    if (rule.needs_nearly_full && !nearly_full) continue;
    if (absl::StrContains(lower, rule.words)) return rule.kind;
  }
  return std::nullopt;
}

FailureKind ClassifyErrorText(absl::string_view text, bool nearly_full) {
  return FindErrorInText(text, nearly_full).value_or(FailureKind::kModelError);
}

std::optional<int64_t> RequestedBytesInText(absl::string_view text) {
  constexpr absl::string_view kWords = "ried to allocate ";
  const size_t at = text.find(kWords);
  if (at == absl::string_view::npos) return std::nullopt;
  const absl::string_view rest = text.substr(at + kWords.size());
  const size_t unit = rest.find_first_not_of("0123456789. ");
  if (unit == absl::string_view::npos) return std::nullopt;
  size_t end = unit;
  while (end < rest.size() && absl::ascii_isalpha(static_cast<unsigned char>(rest[end]))) ++end;
  absl::string_view size = rest.substr(0, end);
  absl::ConsumeSuffix(&size, "ytes");  // "4096 bytes" -> "4096 b"
  const auto bytes = ParseBytes(size);
  if (!bytes.ok()) return std::nullopt;
  return *bytes;
}

std::string ErrorSummary(absl::string_view text) {
  // Below the header of a stack trace, which TorchScript and Python put above the error itself, the
  // frames are indented; the error is not.
  bool in_trace = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const bool indented = absl::StartsWith(line, " ");
    line = absl::StripAsciiWhitespace(line);
    if (absl::StartsWith(line, "Traceback")) in_trace = true;
    if (line.empty() || absl::StartsWith(line, "Traceback") || (in_trace && indented) ||
        absl::StartsWith(line, "The following operation failed in the TorchScript")) {
      continue;
    }
    if (line.size() > kMaxSummary) return absl::StrCat(line.substr(0, kMaxSummary - 3), "...");
    return std::string(line);
  }
  return "an error without a text";
}

}  // namespace autobatch
