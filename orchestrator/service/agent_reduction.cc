#include "orchestrator/service/agent_reduction.h"

#include <optional>
#include <utility>

#include "autobatch/base/clock.h"

namespace autobatch {
namespace {

absl::Status NoReducer() {
  return absl::FailedPreconditionError("no NCCL: this agent was started without it");
}

}  // namespace

AgentReduction::AgentReduction(Reducer* reducer, BlockingWork& work, Timers& timers,
                               absl::Duration timeout)
    : reducer_(reducer),
      work_(work),
      timers_(timers),
      timeout_(timeout),
      cancel_(std::make_shared<CancelSignal>()) {}

void AgentReduction::MakeId(const agent::MakeReduceId& wish,
                            std::function<void(agent::ReduceIdMade)> done) {
  if (reducer_ == nullptr) {
    done({.attempt = wish.attempt, .unique_id = NoReducer()});
    return;
  }
  work_.Run(
      [reducer = reducer_, cancel = cancel_, deadline = Add(timers_.Now(), timeout_)] {
        return reducer->MakeUniqueId(deadline, *cancel);
      },
      [this, cancel = cancel_, attempt = wish.attempt,
       done = std::move(done)](absl::StatusOr<std::unique_ptr<UniqueIdHolder>> id) {
        if (!id.ok()) {
          done({.attempt = attempt, .unique_id = id.status()});
          return;
        }
        const std::string text = (*id)->unique_id();
        std::shared_ptr<UniqueIdHolder> holder = *std::move(id);
        // An attempt that has ended meanwhile needs none.
        if (cancel == cancel_) id_ = std::move(holder);
        done({.attempt = attempt, .unique_id = text});
      });
}

void AgentReduction::Start(const agent::StartReduce& wish, std::span<const DeviceOutcome> report,
                           std::function<void(agent::Reduced)> done) {
  if (reducer_ == nullptr) {
    done({.attempt = wish.attempt, .minimum = NoReducer()});
    return;
  }
  ReduceRequest request{
      .unique_id = wish.unique_id, .world_size = wish.world, .rank_base = wish.rank_base};
  for (const DeviceOutcome& device : report) {
    if (device.batch > 0) request.devices.push_back({.uuid = device.uuid, .value = device.batch});
  }
  work_.Run(
      [reducer = reducer_, cancel = cancel_, deadline = Add(timers_.Now(), timeout_),
       request = std::move(request)] { return reducer->Reduce(request, deadline, *cancel); },
      [attempt = wish.attempt, done = std::move(done)](const absl::StatusOr<ReduceAnswer>& answer) {
        if (!answer.ok()) {
          done({.attempt = attempt, .minimum = answer.status()});
          return;
        }
        done({.attempt = attempt,
              .minimum = answer->minimum,
              .communicator_bytes = CommunicatorBytes(*answer)});
      });
}

void AgentReduction::End() {
  cancel_->Set();
  cancel_ = std::make_shared<CancelSignal>();
  if (id_ == nullptr) return;
  // Its end is a child's end: not on this thread.
  work_.Run(
      [id = std::move(id_)]() mutable {
        id.reset();
        return true;
      },
      [](bool) {});
}

}  // namespace autobatch
