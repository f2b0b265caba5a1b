#ifndef AUTOBATCH_TYPES_FAILURE_H_
#define AUTOBATCH_TYPES_FAILURE_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace autobatch {

// Why a trial did not run its steps. Only the first two are ceilings on memory.
enum class FailureKind {
  kOutOfMemory,           // The allocator said so: a typed error, or its own record of one.
  kSuspectedOutOfMemory,  // A library failed in a way it fails when memory is short, and it was.
  kModelError,            // The model or loss raised: shapes, batch norm of one sample.
  kIllegalAccess,         // Illegal address, device-side assert, 2^31 indexing, lost device.
  kNonFiniteLoss,         // The loss was NaN or infinite.
  kHostOutOfMemory,       // The host killed the child, or refused it memory.
  kTimeout,               // The trial's own deadline passed.
  kCannotStart,           // The child could not be started, or never said hello.
  kCrashed,               // The child died of a signal or exit without a verdict.
  kProtocol,              // The child spoke garbage, or too much.
  kBatchIgnored,          // The step ran on another batch than the one asked for.
  kCancelled,             // We ended it: Ctrl-C, or the search's time was up.
};
BOOST_DESCRIBE_ENUM(FailureKind, kOutOfMemory, kSuspectedOutOfMemory, kModelError, kIllegalAccess,
                    kNonFiniteLoss, kHostOutOfMemory, kTimeout, kCannotStart, kCrashed, kProtocol,
                    kBatchIgnored, kCancelled)

// Where in the trial it happened.
enum class TrialPhase {
  kStart,
  kLoad,
  kForward,
  kLoss,
  kBackward,
  kOptimizer,
  kEvaluation,
  kEnd,
};
BOOST_DESCRIBE_ENUM(TrialPhase, kStart, kLoad, kForward, kLoss, kBackward, kOptimizer, kEvaluation,
                    kEnd)

struct Failure {
  FailureKind kind = FailureKind::kCrashed;
  // What went wrong, in one line, without a stack trace.
  std::string message;
  // What the user can do next; may be empty.
  std::string advice;
  std::optional<TrialPhase> phase;
  // Step at which it happened, from 1.
  std::optional<int64_t> step;
  // Bytes that the failing allocation asked for.
  std::optional<int64_t> requested_bytes;
  std::optional<int64_t> exit_code;
  std::optional<int64_t> signal;
  // The child's last lines on stderr.
  std::string stderr_tail;
};
BOOST_DESCRIBE_STRUCT(Failure, (),
                      (kind, message, advice, phase, step, requested_bytes, exit_code, signal,
                       stderr_tail))

// Whether a smaller batch can be expected to run where this one failed.
inline bool IsMemoryCeiling(FailureKind kind) {
  return kind == FailureKind::kOutOfMemory || kind == FailureKind::kSuspectedOutOfMemory;
}

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_FAILURE_H_
