#include "orchestrator/nccl/reduce_protocol.h"

#include <utility>

namespace autobatch {
namespace {

constexpr std::pair<ReduceFailureKind, absl::StatusCode> kCodes[] = {
    {ReduceFailureKind::kNoNccl, absl::StatusCode::kFailedPrecondition},
    {ReduceFailureKind::kTimeout, absl::StatusCode::kDeadlineExceeded},
    {ReduceFailureKind::kNccl, absl::StatusCode::kAborted},
    {ReduceFailureKind::kNoMemory, absl::StatusCode::kResourceExhausted},
    {ReduceFailureKind::kCancelled, absl::StatusCode::kCancelled},
    {ReduceFailureKind::kRequest, absl::StatusCode::kInvalidArgument},
};

}  // namespace

absl::string_view PhaseWords(ReducePhase phase) {
  switch (phase) {
    case ReducePhase::kDevices:
      return "for contexts on the devices";
    case ReducePhase::kInit:
      return "for all ranks to join";
    case ReducePhase::kReduce:
      return "for the all-reduce";
    case ReducePhase::kMeasure:
      return "for the all-reduce by which the memory is measured";
  }
  return "for NCCL";
}

ReduceFailure ToFailure(const absl::Status& status) {
  ReduceFailure failure = {.message = std::string(status.message())};
  for (const auto& [kind, code] : kCodes) {
    if (code == status.code()) failure.kind = kind;
  }
  return failure;
}

absl::Status ToStatus(const ReduceFailure& failure) {
  for (const auto& [kind, code] : kCodes) {
    if (kind == failure.kind) return absl::Status(code, failure.message);
  }
  return absl::InternalError(failure.message);
}

}  // namespace autobatch
