#ifndef AUTOBATCH_SIMCUDA_CONFIGURATION_H_
#define AUTOBATCH_SIMCUDA_CONFIGURATION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autobatch/simcuda/card.h"
#include "autobatch/simcuda/mig.h"

namespace autobatch::simcuda {

struct ConfiguredDevice {
  Card card;
  // Of processes that are not simulated.
  uint64_t used_by_others = 0;
  // Not empty: the GPU is in MIG mode.
  std::vector<MigSlice> slices;
};

struct DeviceList {
  std::vector<ConfiguredDevice> devices;
  // What is wrong with the text, for people; empty where nothing is.
  std::string error;
};

// Reads a list of devices, in the order in which they sit on the bus:
//
//   rtx3090,a100-80                           catalogue cards
//   custom:memory=24GiB:sm=8.6:context=400MiB a card of one's own, like the catalogue's nearest of
//   that
//                                             architecture in all that is not said
//   rtx3090:used=4GiB                         others hold 4 GiB of it
//   rtx3090:total=lowest                      the smallest total read on Linux (or `highest`)
//   h100-80:count=8                           eight of them
//   a100-80:mig=3g.40gb+2g.20gb               in MIG mode, with two instances
//
// `memory`, `sm`, `context`, `multiprocessors` and `name` change a catalogue card too.
DeviceList ParseDeviceList(std::string_view text);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_CONFIGURATION_H_
