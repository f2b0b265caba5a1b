#include "orchestrator/service/start_exit_code.h"

#include "orchestrator/core/exit_codes.h"

namespace autobatch {

int StartExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnimplemented:
      return kExitUsage;
    default:
      return kExitInternal;
  }
}

}  // namespace autobatch
