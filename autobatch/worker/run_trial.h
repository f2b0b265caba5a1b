#ifndef AUTOBATCH_WORKER_RUN_TRIAL_H_
#define AUTOBATCH_WORKER_RUN_TRIAL_H_

#include <functional>

#include "autobatch/types/failure.h"
#include "autobatch/types/observation.h"
#include "autobatch/types/workload.h"
#include "autobatch/worker/device_memory.h"
#include "autobatch/worker/workload.h"

namespace autobatch {

// What is told while a trial runs, so that a process that dies is known to have died there.
struct TrialEvents {
  std::function<void(TrialPhase)> entered;
  std::function<void(const StepObservation&)> stepped;
};

// Runs `trial` on the workload, which is on the memory's device already: optimizer state, EMA and
// buckets are new, the cache is empty and the peaks are reset, so that no trial sees what an
// earlier one left. The hard limit is the lesser of trial.limit_bytes and free -
// trial.reserve_bytes, where free counts what the allocator already holds (the parameters) as free.
//
// Never throws: what a trial throws is the observation's failure, and what it held is freed before
// this returns (but for an illegal access, after which the device is not touched again: the process
// is then good for nothing but to be replaced).
Observation RunTrial(Workload& workload, DeviceMemory& memory, const WorkloadSpec& spec,
                     const TrialSpec& trial, const TrialEvents& events);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_RUN_TRIAL_H_
