#ifndef AUTOBATCH_WORKER_TRIAL_FAILURE_H_
#define AUTOBATCH_WORKER_TRIAL_FAILURE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "autobatch/types/failure.h"
#include "autobatch/worker/device_memory.h"

namespace autobatch {

// Where in a trial something was thrown.
struct TrialPlace {
  TrialPhase phase = TrialPhase::kStart;
  // From 1; 0 outside of steps.
  int64_t step = 0;
  // The hard limit in force.
  std::optional<int64_t> budget_bytes;
};

// What the exception that is being handled means; call it inside a catch block only. The
// allocator's record of a refusal decides before the exception's type, and that before its words:
// TorchScript loses the type, and many libraries fail in strange words when memory is short. Copies
// out what is needed and holds no part of the exception, so that the memory that its frames held
// can be given back once the handler is left.
Failure DescribeCaught(const DeviceMemory& memory, const TrialPlace& place);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_TRIAL_FAILURE_H_
