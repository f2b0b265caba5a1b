#ifndef AUTOBATCH_SIMCUDA_DEVICE_ATTRIBUTES_H_
#define AUTOBATCH_SIMCUDA_DEVICE_ATTRIBUTES_H_

#include <cuda_runtime_api.h>

#include "autobatch/simcuda/device.h"

namespace autobatch::simcuda {

// Of cudaDeviceAttr and CUdevice_attribute, whose numbers are the same. 0 for what nobody asks.
int DeviceAttribute(const Device& device, int attribute);

// Whatever layout the program was compiled for.
cudaError_t FillDeviceProperties(int ordinal, void* properties, bool cuda12);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_DEVICE_ATTRIBUTES_H_
