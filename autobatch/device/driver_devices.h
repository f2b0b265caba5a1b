#ifndef AUTOBATCH_DEVICE_DRIVER_DEVICES_H_
#define AUTOBATCH_DEVICE_DRIVER_DEVICES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "autobatch/device/driver_api.h"
#include "autobatch/types/device.h"

namespace autobatch {

// 13000 -> "13.0".
std::string CudaVersionName(int version);

// FailedPrecondition where the driver runs only older CUDA than `needed` (as the driver counts:
// 13000 is 13.0): "the NVIDIA driver supports CUDA 12.4 …". Minor versions are compatible with each
// other, so the major one decides. A version that the driver does not tell is no error.
absl::Status CheckDriverVersion(std::optional<int> version, int needed);

// The newest CUDA that the driver runs; absent where it does not tell.
std::optional<int> DriverVersion(DriverApi& driver);

// Every device that the driver enumerates for this process: CUDA_VISIBLE_DEVICES applied by the
// driver itself, in its order. Set are: uuid, kind, name, pci_bus_id, integrated,
// compute_capability, total memory; free memory would need a context. Initialises the driver.
//
// NotFound: no device (or none visible). FailedPrecondition: the driver cannot work as it is
// installed. Unavailable: another error, named.
absl::StatusOr<std::vector<Device>> EnumerateDriver(DriverApi& driver);

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_DRIVER_DEVICES_H_
