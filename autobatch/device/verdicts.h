#ifndef AUTOBATCH_DEVICE_VERDICTS_H_
#define AUTOBATCH_DEVICE_VERDICTS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autobatch/types/device.h"

namespace autobatch {

struct Verdict {
  // The driver's devices, in the driver's order, completed with what only we know (origin, physical
  // ordinal, other processes).
  std::vector<Device> devices;
  // Each difference, for people.
  std::vector<std::string> warnings;
};

// Compares our reading of CUDA_VISIBLE_DEVICES (`ours`: every visible CUDA device, from
// ListDevices) with what the driver enumerates for a child (`drivers`: WorkerDescription.devices).
// The driver is believed. Both in visible order; matched by UUID. A pure function.
// `host_available_bytes`: MemAvailable of the host, which is what an integrated GPU has free: its
// driver's number leaves out the page cache.
Verdict CompareVerdicts(std::span<const Device> ours, std::span<const Device> drivers,
                        std::optional<int64_t> host_available_bytes);

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_VERDICTS_H_
