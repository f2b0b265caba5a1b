#include "autobatch/worker/cuda_identity.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace autobatch {

std::string FormatCudaUuid(const cudaUUID_t& uuid, DeviceKind kind) {
  const std::string hex = absl::BytesToHexString(absl::string_view(uuid.bytes, 16));
  return absl::StrCat(kind == DeviceKind::kMig ? "MIG-" : "GPU-", hex.substr(0, 8), "-",
                      hex.substr(8, 4), "-", hex.substr(12, 4), "-", hex.substr(16, 4), "-",
                      hex.substr(20));
}

DeviceKind CudaDeviceKind(absl::string_view name) {
  return absl::StrContains(name, " MIG ") ? DeviceKind::kMig : DeviceKind::kCuda;
}

Device DescribeCudaDevice(const cudaDeviceProp& properties, int visible_index) {
  Device device;
  device.kind = CudaDeviceKind(properties.name);
  device.uuid = FormatCudaUuid(properties.uuid, device.kind);
  device.name = properties.name;
  device.address = absl::StrCat("cuda:", visible_index);
  device.visible_index = visible_index;
  // The function is always 0; NVML and nvidia-smi write it so.
  device.pci_bus_id = absl::StrFormat("%08X:%02X:%02X.0", properties.pciDomainID,
                                      properties.pciBusID, properties.pciDeviceID);
  device.compute_capability = absl::StrCat(properties.major, ".", properties.minor);
  device.integrated = properties.integrated != 0;
  device.memory.total_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  return device;
}

}  // namespace autobatch
