#include "orchestrator/plan/device_outcome.h"

namespace autobatch {

DeviceOutcome OutcomeOf(const DeviceResult& result) {
  DeviceOutcome outcome{
      .uuid = result.device.uuid,
      .address = result.device.address,
      .name = result.device.name,
      .simulated = result.device.simulated,
      .total_bytes = result.device.memory.total_bytes,
      .others = result.device.memory.others,
      .status = result.status,
      .batch = result.confirmed_batch.value_or(result.estimated_batch.value_or(0)),
      .bound = result.bound};
  if (result.failure.has_value()) {
    outcome.failure = result.failure->kind;
    outcome.message = result.failure->message;
  }
  return outcome;
}

}  // namespace autobatch
