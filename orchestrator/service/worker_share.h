#ifndef ORCHESTRATOR_SERVICE_WORKER_SHARE_H_
#define ORCHESTRATOR_SERVICE_WORKER_SHARE_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orchestrator/plan/record.h"
#include "orchestrator/service/worker_request.h"

namespace autobatch {

// Whether the request's numbers make sense. InvalidArgument names the one that does not.
absl::Status ValidateRequest(const WorkerRequest& request);

// The share of one training process of a node: the row of its actual world size, and in it its own
// rank (or, where the shares are the devices' own, its device: the one that it names, else the one
// that its local rank counts to in `devices`, the node's devices in CUDA's order). Consecutive
// processes hold a replica of the model where a replica is several.
//
// InvalidArgument: the request makes no sense. NotFound: the record has no row for this world size
// (the message says which it has). FailedPrecondition: the process names a device that is not among
// `devices`, or that has no share; with an empty `devices` every device is believed.
absl::StatusOr<WorkerShare> ShareFor(const Record& record, const std::string& record_path,
                                     std::span<const std::string> devices,
                                     const WorkerRequest& request);

// What training is handed: AUTOBATCH_MICRO_BATCH, _ACCUMULATION, _GLOBAL_BATCH, _WEIGHT,
// _LR_FACTOR, _STEPS_PER_EPOCH (where it is known), _WORLD_SIZE and _RANK (the launcher's),
// _ROUND, _RUN_ID, _RECORD, _DIGEST; _MICRO_BATCHES, such as "57x2,56x1", where the micro-steps
// differ; _FALLBACK=1 and _SIMULATED=1 where they are so.
std::vector<WorkerVariable> VariablesOf(const WorkerShare& share);

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_WORKER_SHARE_H_
