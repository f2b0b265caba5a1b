#ifndef AUTOBATCH_TYPES_FAILURE_TEXT_H_
#define AUTOBATCH_TYPES_FAILURE_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "autobatch/types/failure.h"

namespace autobatch {

// What the text of an exception, or the last lines of a log, says went wrong:
//   ClassifyErrorText("CUDA out of memory. Tried to allocate 2.00 GiB ...", true)  // kOutOfMemory
//   ClassifyErrorText("CUBLAS_STATUS_NOT_INITIALIZED ...", true)    // kSuspectedOutOfMemory
//   ClassifyErrorText("CUBLAS_STATUS_NOT_INITIALIZED ...", false)   // kModelError
// `nearly_full`: when it happened, the device (or the workload's budget) had next to nothing left;
// many libraries fail in unrelated words then. An error that names a failed allocation needs no
// such evidence. What no rule knows is kModelError. Pure; for both sides of the protocol. An
// allocator's own record of a refusal is better evidence than any text and is to be asked first.
FailureKind ClassifyErrorText(absl::string_view text, bool nearly_full);

// The same, but absent where no rule knows the text: for logs, where most lines are no
// error at all.
std::optional<FailureKind> FindErrorInText(absl::string_view text, bool nearly_full);

// "Tried to allocate 2.00 GiB", "you tried to allocate 4096 bytes": bytes that were asked for.
std::optional<int64_t> RequestedBytesInText(absl::string_view text);

// What CUDA says of a device that a framework was not built for, and what helps.
inline constexpr absl::string_view kNoKernelImage = "no kernel image is available";
inline constexpr absl::string_view kNoKernelAdvice =
    "The framework has no kernels for this device: take a build for its compute capability "
    "(torch.cuda.get_arch_list() says which are in it), or another device.";

// The first line of an exception's text that says something, without the stack trace, cut to 400
// bytes.
std::string ErrorSummary(absl::string_view text);

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_FAILURE_TEXT_H_
