#ifndef AUTOBATCH_DEVICE_CUDA_DEVICES_H_
#define AUTOBATCH_DEVICE_CUDA_DEVICES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "autobatch/device/device_sources.h"
#include "autobatch/types/device.h"

namespace autobatch {

// The CUDA devices of this process, before anybody chose among them.
struct CudaDevices {
  // In CUDA's order; may be empty.
  std::vector<Device> visible;
  // Why it is empty.
  std::string why_none;
  std::vector<std::string> warnings;
  std::optional<std::string> driver_version;
  std::optional<std::string> cuda_driver_version;
};

// Reads the node's GPUs from NVML and CUDA_VISIBLE_DEVICES by our own rule; no context is made.
// Where NVML is missing, or does not tell a device's memory (integrated ones), the driver itself is
// asked.
//
// FailedPrecondition: there are GPUs and CUDA cannot use them as things are: a driver that is too
// old, that does not match its libraries, or that is not in this container.
absl::StatusOr<CudaDevices> FindCudaDevices(const DeviceSources& sources,
                                            std::span<const int64_t> own_pids);

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_CUDA_DEVICES_H_
