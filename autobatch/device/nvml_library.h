#ifndef AUTOBATCH_DEVICE_NVML_LIBRARY_H_
#define AUTOBATCH_DEVICE_NVML_LIBRARY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "autobatch/device/nvml_api.h"

namespace autobatch {

// NVIDIA's own library, opened at run time and not yet initialised. NotFound where it cannot be
// opened: no NVIDIA driver, or a container without its "utility" part. Only mains call this.
absl::StatusOr<std::unique_ptr<NvmlApi>> LoadNvml(const std::string& name = "libnvidia-ml.so.1");

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_NVML_LIBRARY_H_
