#ifndef AUTOBATCH_DEVICE_DRIVER_LIBRARY_H_
#define AUTOBATCH_DEVICE_DRIVER_LIBRARY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "autobatch/device/driver_api.h"

namespace autobatch {

// The CUDA driver, opened at run time and not yet initialised. NotFound where it cannot be opened:
// there is no NVIDIA driver. Only mains call this.
absl::StatusOr<std::unique_ptr<DriverApi>> LoadDriver(const std::string& name = "libcuda.so.1");

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_DRIVER_LIBRARY_H_
