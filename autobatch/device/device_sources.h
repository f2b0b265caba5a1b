#ifndef AUTOBATCH_DEVICE_DEVICE_SOURCES_H_
#define AUTOBATCH_DEVICE_DEVICE_SOURCES_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "autobatch/device/driver_api.h"
#include "autobatch/device/nvml_api.h"

namespace autobatch {

// Where the facts about devices come from; tests put fakes here.
struct DeviceSources {
  // Every CUDA device of theirs is marked so.
  bool simulated = false;
  // Null where the library is not there, for the reason beside it.
  std::unique_ptr<DriverApi> driver;
  std::string no_driver;
  std::unique_ptr<NvmlApi> nvml;
  std::string no_nvml;
  // The environment; absent: unset.
  std::function<std::optional<std::string>(absl::string_view name)> getenv;
  // What stands before "/proc/…" and "/sys/…"; empty for the machine's own.
  std::string root;
  std::string host_name;
  // The CUDA that this build's worker needs, as the driver counts: 13000 is 13.0.
  int cuda_needed = 0;
};

// This machine's: opens libcuda.so.1 and libnvidia-ml.so.1 where they are. Only mains call this.
DeviceSources RealDeviceSources();

// The same, but the two libraries are the simulated ones in `folder`, which read the environment of
// this process. Only mains call this.
DeviceSources SimulatedDeviceSources(const std::string& folder);

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_DEVICE_SOURCES_H_
