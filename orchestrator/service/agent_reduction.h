#ifndef ORCHESTRATOR_SERVICE_AGENT_REDUCTION_H_
#define ORCHESTRATOR_SERVICE_AGENT_REDUCTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "autobatch/trial/cancel_signal.h"
#include "orchestrator/core/agent_io.h"
#include "orchestrator/nccl/reducer.h"
#include "orchestrator/net/timers.h"
#include "orchestrator/plan/device_outcome.h"
#include "orchestrator/service/blocking_work.h"

namespace autobatch {

// An agent's part in the minimum over NCCL: blocking calls on the pool, ended with their attempt.
class AgentReduction {
 public:
  // `reducer` null: this node takes no part and says so. `work` has threads for an id, a reduction
  // and a probe at a time. All outlive it.
  AgentReduction(Reducer* reducer, BlockingWork& work, Timers& timers, absl::Duration timeout);

  // Makes an id, which is alive until the attempt ends.
  void MakeId(const agent::MakeReduceId& wish, std::function<void(agent::ReduceIdMade)> done);

  // Takes part with every device of the report that has a batch, in its order.
  void Start(const agent::StartReduce& wish, std::span<const DeviceOutcome> report,
             std::function<void(agent::Reduced)> done);

  // What still runs of the attempt ends soon; its answer comes all the same.
  void End();

 private:
  Reducer* const reducer_;
  BlockingWork& work_;
  Timers& timers_;
  const absl::Duration timeout_;
  std::shared_ptr<UniqueIdHolder> id_;
  // Of the attempt that runs; shared with the threads that work on it.
  std::shared_ptr<CancelSignal> cancel_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_AGENT_REDUCTION_H_
