#include "autobatch/worker/device_memory.h"

#include <memory>

namespace autobatch {

absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeDeviceMemory(DeviceKind kind) {
  if (kind == DeviceKind::kCpu) return MakeCpuMemory();
  return MakeCudaMemory();
}

}  // namespace autobatch
