#ifndef AUTOBATCH_SIMCUDA_FAULT_INJECTION_H_
#define AUTOBATCH_SIMCUDA_FAULT_INJECTION_H_

#include <cstdint>

#include "autobatch/simcuda/device.h"

namespace autobatch::simcuda {

// Where the plan of the environment (faults.h) strikes. Cheap where there is none. Thread-safe.

// Before a driver allocation: whether it fails.
bool FaultsAtAllocation(Device& device);

// With every kernel launch.
void FaultsAtLaunch(Device& device);

// Before whatever waits for the device's work: does not return where that work hangs.
void WaitForDevice();
bool DeviceHangs();

// A convolution over so many samples was asked for.
void SawBatch(int64_t samples);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_FAULT_INJECTION_H_
