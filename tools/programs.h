#ifndef TOOLS_PROGRAMS_H_
#define TOOLS_PROGRAMS_H_

#include "absl/status/statusor.h"
#include "autobatch/trial/worker_trial_runner.h"

namespace autobatch {

// The worker and the guard that belong to this program: beside it, or where Bazel keeps them.
// FailedPrecondition names the places looked at.
absl::StatusOr<WorkerPrograms> FindPrograms();

}  // namespace autobatch

#endif  // TOOLS_PROGRAMS_H_
