#ifndef AUTOBATCH_PROBE_PROGRAMS_H_
#define AUTOBATCH_PROBE_PROGRAMS_H_

#include <string>

#include "absl/status/statusor.h"
#include "autobatch/trial/worker_trial_runner.h"

namespace autobatch {

// The worker and the guard that belong to this program: beside it, or where Bazel keeps them.
// FailedPrecondition names the places looked at.
absl::StatusOr<WorkerPrograms> FindPrograms();

// One file of ours, by its Bazel package and name, found in the same way.
absl::StatusOr<std::string> FindBeside(const std::string& package, const std::string& name);

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_PROGRAMS_H_
