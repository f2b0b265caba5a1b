#ifndef AUTOBATCH_PROBE_DEVICE_RESULT_H_
#define AUTOBATCH_PROBE_DEVICE_RESULT_H_

#include "autobatch/types/observation.h"
#include "autobatch/types/report.h"

namespace autobatch {

// What follows for a device's result from its trials. Pure.

// The confirming trial's peak, headroom below `result.budget_bytes`, and speed.
void AddConfirmed(const Observation& confirmed, DeviceResult& result);

// What trials warn of, each kind (the words before its colon) once: a dozen trials leave a dozen
// files.
void AddTrialWarnings(DeviceResult& result);

// A command that takes its batch, and has data for it, holds more at a larger one. Watched from
// outside, that is all that tells.
void DoubtUnusedBatch(DeviceResult& result);

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_DEVICE_RESULT_H_
