#include "autobatch/probe/fake_card.h"

#include <algorithm>

namespace autobatch {

Device FakeCard(const std::string& uuid, int64_t bytes) {
  return {.uuid = uuid,
          .kind = DeviceKind::kCuda,
          .name = "card",
          .address = "cuda:" + uuid,
          .memory = {.total_bytes = bytes, .free_bytes = bytes}};
}

Observation RunOnCard(const Device& card, const TrialSpec& trial, const FakeWork& work) {
  const int64_t free = *card.memory.free_bytes;
  const int64_t need = work.Bytes(trial.batch);
  Observation seen{
      .trial = trial,
      .budget_bytes = std::min(free - trial.reserve_bytes, trial.limit_bytes.value_or(free)),
      .total_bytes = free,
      .free_before_bytes = free,
      .free_after_bytes = free - need - work.outside,
      .batch_seen = trial.batch};
  if (need > *seen.budget_bytes) {
    seen.failure = Failure{
        .kind = FailureKind::kOutOfMemory, .message = card.address, .requested_bytes = work.sample};
    return seen;
  }
  seen.first_step = seen.steady = MemoryPeak{need, need, need};
  for (int64_t step = 1; step <= trial.steps; ++step) {
    seen.steps.push_back({.step = step, .step_ms = 10, .peak = *seen.steady, .loss = 1.0});
  }
  seen.step_ms = 10;
  seen.parameters = 1000;
  seen.ranks = 1;
  return seen;
}

int64_t Reserve(const DeviceResult& result) {
  int64_t sum = 0;
  for (const Margin& margin : result.margins) sum += margin.bytes;
  return sum;
}

}  // namespace autobatch
