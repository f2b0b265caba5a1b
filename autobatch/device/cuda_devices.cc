#include "autobatch/device/cuda_devices.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/device/device_order.h"
#include "autobatch/device/driver_devices.h"
#include "autobatch/device/host_memory.h"
#include "autobatch/device/nvml_gpus.h"
#include "autobatch/device/verdicts.h"
#include "autobatch/device/visible_devices.h"

namespace autobatch {
namespace {

constexpr char kVisibleVariable[] = "CUDA_VISIBLE_DEVICES";
constexpr char kOrderVariable[] = "CUDA_DEVICE_ORDER";

std::optional<absl::string_view> View(const std::optional<std::string>& text) {
  return text.has_value() ? std::optional<absl::string_view>(*text) : std::nullopt;
}

void Append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::string Entry(absl::string_view value, size_t entry, size_t entries) {
  return absl::StrCat(kVisibleVariable, "=", value, " entry ", entry + 1, " of ", entries);
}

// NVML's GPUs under CUDA's numbers.
std::vector<NvmlGpu> InCudaOrder(std::vector<NvmlGpu> gpus, const DeviceSources& sources,
                                 std::vector<std::string>& warnings) {
  std::vector<OrderFacts> facts;
  facts.reserve(gpus.size());
  for (const NvmlGpu& gpu : gpus) {
    facts.push_back({.name = gpu.device.name,
                     .pci_bus_id = gpu.device.pci_bus_id.value_or(""),
                     .speed = gpu.speed});
  }
  const std::optional<std::string> value = sources.getenv(kOrderVariable);
  const DeviceOrder order = OrderDevices(View(value), facts);
  Append(warnings, order.warnings);
  std::vector<NvmlGpu> ordered;
  ordered.reserve(gpus.size());
  for (const size_t position : order.order) ordered.push_back(std::move(gpus[position]));
  return ordered;
}

std::vector<PhysicalDevice> Physical(std::span<const NvmlGpu> gpus) {
  std::vector<PhysicalDevice> physical;
  for (const NvmlGpu& gpu : gpus) {
    PhysicalDevice& device = physical.emplace_back();
    device.uuid = gpu.device.uuid;
    device.mig_enabled = gpu.mig_enabled;
    for (const NvmlInstance& instance : gpu.instances) {
      device.instances.push_back({.uuid = instance.device.uuid,
                                  .gpu_instance = instance.gpu_instance,
                                  .compute_instance = instance.compute_instance});
    }
  }
  return physical;
}

// The visible ones of NVML's GPUs, by our own reading.
void ResolveNvml(NvmlNode node, const DeviceSources& sources, CudaDevices& result) {
  std::vector<std::string> order_warnings;
  const std::vector<NvmlGpu> gpus = InCudaOrder(std::move(node.gpus), sources, order_warnings);
  const std::optional<std::string> value = sources.getenv(kVisibleVariable);
  const VisibleDevices visible = ResolveVisible(View(value), Physical(gpus));
  for (const VisibleDevice& choice : visible.devices) {
    const NvmlGpu& gpu = gpus[choice.physical];
    Device device =
        choice.instance.has_value() ? gpu.instances[*choice.instance].device : gpu.device;
    device.visible_index = static_cast<int64_t>(result.visible.size());
    device.address = absl::StrCat("cuda:", *device.visible_index);
    device.physical_ordinal = static_cast<int64_t>(choice.physical);
    device.origin = choice.entry.has_value() ? Entry(*value, *choice.entry, visible.entries)
                                             : absl::StrCat(kVisibleVariable, " is unset");
    result.visible.push_back(std::move(device));
  }
  Append(result.warnings, node.warnings);
  if (!result.visible.empty()) {
    // Numbers do not matter where devices are named by UUID.
    if (!value.has_value() ||
        !(absl::StartsWith(*value, "GPU-") || absl::StartsWith(*value, "MIG-"))) {
      Append(result.warnings, order_warnings);
    }
    Append(result.warnings, visible.warnings);
    return;
  }
  result.why_none = gpus.empty() ? "this node has no NVIDIA GPU that this process may use"
                                 : absl::StrJoin(visible.warnings, "; ");
}

// The driver's own list, where NVML cannot be asked.
absl::Status TakeDriversList(const DeviceSources& sources, CudaDevices& result) {
  absl::StatusOr<std::vector<Device>> devices = EnumerateDriver(*sources.driver);
  const std::optional<std::string> value = sources.getenv(kVisibleVariable);
  if (absl::IsNotFound(devices.status())) {
    result.why_none = absl::StrCat(
        devices.status().message(),
        value.has_value() ? absl::StrCat(" with ", kVisibleVariable, "='", *value, "'") : "");
    return absl::OkStatus();
  }
  if (!devices.ok()) return absl::FailedPreconditionError(devices.status().message());
  const size_t entries =
      value.has_value() ? std::vector<absl::string_view>(absl::StrSplit(*value, ',')).size() : 0;
  if (entries > devices->size()) {
    result.warnings.push_back(absl::StrCat(kVisibleVariable, "=", *value, " has ", entries,
                                           " entries, the driver enumerates ", devices->size(),
                                           " of them; nvidia-smi -L lists what is there"));
  }
  const HostMemory host = ReadHostMemory(sources.root);
  for (Device& device : *devices) {
    const size_t index = result.visible.size();
    device.visible_index = static_cast<int64_t>(index);
    device.address = absl::StrCat("cuda:", index);
    device.origin = value.has_value() ? Entry(*value, index, entries)
                                      : absl::StrCat(kVisibleVariable, " is unset");
    if (device.integrated == true) device.memory.free_bytes = host.available_bytes;
    result.visible.push_back(std::move(device));
  }
  return absl::OkStatus();
}

// NVML tells nothing about the memory of integrated GPUs ("N/A"): the driver does.
void CompleteFromDriver(const DeviceSources& sources, CudaDevices& result) {
  const bool complete =
      std::all_of(result.visible.begin(), result.visible.end(),
                  [](const Device& device) { return device.memory.total_bytes.has_value(); });
  if (complete) return;
  const absl::StatusOr<std::vector<Device>> drivers = EnumerateDriver(*sources.driver);
  if (!drivers.ok()) {
    result.warnings.push_back(std::string(drivers.status().message()));
    return;
  }
  Verdict verdict =
      CompareVerdicts(result.visible, *drivers, ReadHostMemory(sources.root).available_bytes);
  Append(result.warnings, verdict.warnings);
  result.visible = std::move(verdict.devices);
}

// Without libcuda: is there a GPU all the same?
absl::Status WithoutDriver(const DeviceSources& sources, CudaDevices& result) {
  result.why_none = sources.no_driver;
  if (sources.nvml == nullptr) return absl::OkStatus();
  const absl::StatusOr<NvmlNode> node = ReadNvml(*sources.nvml, {}, sources.root);
  if (!node.ok() || node->gpus.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("NVML sees ", node->gpus.size(), " GPU(s), but ", sources.no_driver,
                   "; a container needs NVIDIA_DRIVER_CAPABILITIES=compute,utility"));
}

}  // namespace

absl::StatusOr<CudaDevices> FindCudaDevices(const DeviceSources& sources,
                                            std::span<const int64_t> own_pids) {
  CudaDevices result;
  if (sources.driver == nullptr) {
    AB_RETURN_IF_ERROR(WithoutDriver(sources, result));
    return result;
  }
  const std::optional<int> version = DriverVersion(*sources.driver);
  if (version.has_value()) result.cuda_driver_version = CudaVersionName(*version);
  AB_RETURN_IF_ERROR(CheckDriverVersion(version, sources.cuda_needed));

  absl::StatusOr<NvmlNode> node = absl::UnavailableError(sources.no_nvml);
  if (sources.nvml != nullptr) node = ReadNvml(*sources.nvml, own_pids, sources.root);
  if (absl::IsFailedPrecondition(node.status())) return node.status();
  if (!node.ok()) {
    AB_RETURN_IF_ERROR(TakeDriversList(sources, result));
    if (!result.visible.empty()) {
      result.warnings.push_back(absl::StrCat(
          node.status().message(),
          ": free memory and other processes' use are not known before a trial measures them"));
    }
    return result;
  }
  result.driver_version = node->driver_version;
  if (!result.cuda_driver_version.has_value() && node->cuda_driver_version.has_value()) {
    result.cuda_driver_version = CudaVersionName(*node->cuda_driver_version);
  }
  ResolveNvml(*std::move(node), sources, result);
  CompleteFromDriver(sources, result);
  return result;
}

}  // namespace autobatch
