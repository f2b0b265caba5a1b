#ifndef ORCHESTRATOR_LAUNCH_WORKER_IDENTITY_H_
#define ORCHESTRATOR_LAUNCH_WORKER_IDENTITY_H_

#include "absl/status/statusor.h"
#include "orchestrator/dialect/environment.h"
#include "orchestrator/dialect/read_launcher.h"
#include "orchestrator/service/worker_request.h"

namespace autobatch {

// What this process asks its node's agent, by what its launcher says of it. FailedPrecondition:
// the variables contradict each other (CheckReading), or say no rank or no world; names what is
// missing and how to start a worker that has it.
//
// The device is named only where it is certain: CUDA_VISIBLE_DEVICES holds UUIDs, and one of them
// is this rank's (its only one, else the one that its local rank counts to).
absl::StatusOr<WorkerRequest> IdentifyWorker(const LauncherReading& reading,
                                             const Environment& environment);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_WORKER_IDENTITY_H_
