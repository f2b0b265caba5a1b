#include "autobatch/device/memory_reader.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/device/nvml_gpus.h"

namespace autobatch {

DeviceMemoryReader::DeviceMemoryReader(std::unique_ptr<NvmlApi> nvml, std::string root)
    : nvml_(std::move(nvml)), root_(std::move(root)) {
  // Counted by NVML: while this one is open, those around each reading cost nothing.
  initialised_ = nvml_ != nullptr && nvml_->Init() == kNvmlSuccess;
}

DeviceMemoryReader::~DeviceMemoryReader() {
  if (initialised_) nvml_->Shutdown();
}

absl::StatusOr<MemoryInfo> DeviceMemoryReader::Read(absl::string_view uuid) {
  if (nvml_ == nullptr) return absl::UnavailableError("there is no NVML (libnvidia-ml.so.1)");
  AB_ASSIGN_OR_RETURN(const NvmlNode node, ReadNvml(*nvml_, {}, root_));
  for (const NvmlGpu& gpu : node.gpus) {
    if (absl::EqualsIgnoreCase(gpu.device.uuid, uuid)) return gpu.device.memory;
    for (const NvmlInstance& instance : gpu.instances) {
      if (absl::EqualsIgnoreCase(instance.device.uuid, uuid)) return instance.device.memory;
    }
  }
  return absl::NotFoundError(absl::StrCat("NVML knows no device ", uuid));
}

}  // namespace autobatch
