#ifndef AUTOBATCH_TRIAL_NODE_VERDICT_H_
#define AUTOBATCH_TRIAL_NODE_VERDICT_H_

#include <cstdint>
#include <span>
#include <string>

#include "autobatch/trial/node_trial_runner.h"
#include "autobatch/types/device.h"
#include "autobatch/types/observation.h"

namespace autobatch {

// What the devices of one trial mean together. Pure.

// The strictest limits of all devices, for ranks that know nothing of several.
TrialSpec Strictest(std::span<const TrialSpec> specs);

// Of a trial on several devices that ran: one on which nothing ran fails it, since nothing would be
// known of it; `ranks` that spoke (0: none of them does) and are not one a device are a warning.
void CheckDevices(std::span<const Device> devices, int64_t ranks, NodeObservation& seen);

// A failure on one device becomes every device's, by whose address its message begins if there are
// several; `stderr_tail` are the command's last words, for one that has none.
void SpreadFailure(std::span<const Device> devices, const std::string& stderr_tail,
                   NodeObservation& seen);

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_NODE_VERDICT_H_
