#ifndef AUTOBATCH_PROBE_DEVICE_ESTIMATE_H_
#define AUTOBATCH_PROBE_DEVICE_ESTIMATE_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "autobatch/probe/device_probe.h"
#include "autobatch/probe/probe_spec.h"
#include "autobatch/trial/trial_runner.h"
#include "autobatch/types/device.h"
#include "autobatch/types/report.h"

namespace autobatch {

// Asks the seed estimator that `spec` names, over real trials. Its answer is `estimated_batch`,
// which nothing has run; with `spec.confirm_estimate` the confirming trial follows, and, should it
// fail, the search for what does run below it. `parts.runner` runs the whole search, profile
// included.
absl::StatusOr<DeviceResult> EstimateDevice(const ProbeSpec& spec, const Device& device,
                                            int64_t devices, const DeviceProbeParts& parts);

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_DEVICE_ESTIMATE_H_
