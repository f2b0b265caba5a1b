#include "autobatch/device/device_sources.h"

#include <cuda.h>

#include <cstdlib>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/host_name.h"
#include "autobatch/device/driver_library.h"
#include "autobatch/device/nvml_library.h"

namespace autobatch {
namespace {

std::optional<std::string> Environment(absl::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

DeviceSources SourcesIn(const std::string& folder) {
  DeviceSources sources;
  if (absl::StatusOr<std::unique_ptr<DriverApi>> driver = LoadDriver(folder + "libcuda.so.1");
      driver.ok()) {
    sources.driver = *std::move(driver);
  } else {
    sources.no_driver = absl::StrCat("no NVIDIA driver (", driver.status().message(), ")");
  }
  if (absl::StatusOr<std::unique_ptr<NvmlApi>> nvml = LoadNvml(folder + "libnvidia-ml.so.1");
      nvml.ok()) {
    sources.nvml = *std::move(nvml);
  } else {
    sources.no_nvml = absl::StrCat("no NVML (", nvml.status().message(), ")");
  }
  sources.getenv = Environment;
  sources.host_name = HostName();
  // The CUDA whose headers came with the LibTorch that the worker is linked with.
  sources.cuda_needed = CUDA_VERSION;
  return sources;
}

}  // namespace

DeviceSources RealDeviceSources() { return SourcesIn(""); }

DeviceSources SimulatedDeviceSources(const std::string& folder) {
  DeviceSources sources = SourcesIn(folder + "/");
  sources.simulated = true;
  return sources;
}

}  // namespace autobatch
