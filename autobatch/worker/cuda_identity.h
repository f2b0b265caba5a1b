#ifndef AUTOBATCH_WORKER_CUDA_IDENTITY_H_
#define AUTOBATCH_WORKER_CUDA_IDENTITY_H_

#include <driver_types.h>

#include <string>

#include "absl/strings/string_view.h"
#include "autobatch/types/device.h"

namespace autobatch {

// "GPU-" or, for a MIG instance, "MIG-", and the 16 bytes as 8-4-4-4-12 hexadecimal digits: as
// NVML and CUDA_VISIBLE_DEVICES write them.
std::string FormatCudaUuid(const cudaUUID_t& uuid, DeviceKind kind);

// The runtime does not say what a MIG instance is, except in its name ("… MIG 1g.10gb").
DeviceKind CudaDeviceKind(absl::string_view name);

// What the runtime tells about a device without creating a context on it; no memory figures.
Device DescribeCudaDevice(const cudaDeviceProp& properties, int visible_index);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_CUDA_IDENTITY_H_
