#include "autobatch/device/nvml_gpus.h"

#include <algorithm>
#include <limits>
#include <map>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/device/host_files.h"
#include "autobatch/device/pci_bus_id.h"

namespace autobatch {
namespace {

// More than NVML's own maxima (96 and 96).
constexpr unsigned int kTextLength = 128;
// Processes beyond this on one GPU are a driver gone wrong.
constexpr unsigned int kMaxProcesses = 1 << 16;

absl::Status InitError(NvmlReturn result) {
  switch (result) {
    case kNvmlLibRmVersionMismatch:
      return absl::FailedPreconditionError(
          "the NVIDIA driver in the kernel and its libraries are of different versions (NVML: "
          "driver/library version mismatch), usually after an update; reboot, or reload the nvidia "
          "kernel modules");
    case kNvmlDriverNotLoaded:
      return absl::UnavailableError(
          "the NVIDIA driver is not loaded into the kernel (NVML: driver not loaded); load it with "
          "modprobe nvidia, or install it");
    case kNvmlNoPermission:
      return absl::UnavailableError(
          "no permission to talk to the NVIDIA driver (NVML: no permission); see the rights of "
          "/dev/nvidiactl");
    case kNvmlFunctionNotFound:
      return absl::UnavailableError("libnvidia-ml.so.1 has no nvmlInit_v2; it is too old");
    default:
      return absl::UnavailableError(
          absl::StrCat("NVML cannot start (nvmlInit: ", static_cast<int>(result), ")"));
  }
}

// Calls `get(buffer, length)`; absent where NVML does not tell.
template <typename Get>
std::optional<std::string> Text(Get get) {
  char buffer[kTextLength] = {};
  if (get(buffer, kTextLength) != kNvmlSuccess) return std::nullopt;
  buffer[kTextLength - 1] = '\0';
  if (buffer[0] == '\0') return std::nullopt;
  return std::string(buffer);
}

std::optional<int64_t> Bytes(unsigned long long bytes) {
  if (bytes > static_cast<unsigned long long>(std::numeric_limits<int64_t>::max())) {
    return std::nullopt;
  }
  return static_cast<int64_t>(bytes);
}

void ReadMemory(NvmlApi& nvml, NvmlDevice handle, MemoryInfo& memory) {
  NvmlMemoryV2 v2 = {.version = kNvmlMemoryV2Version};
  if (nvml.DeviceGetMemoryInfoV2(handle, &v2) == kNvmlSuccess && v2.reserved <= v2.total) {
    // What driver and firmware keep is nobody's to use; CUDA leaves it out of its total too.
    memory.total_bytes = Bytes(v2.total - v2.reserved);
    memory.free_bytes = Bytes(v2.free);
    return;
  }
  NvmlMemory v1 = {};
  if (nvml.DeviceGetMemoryInfo(handle, &v1) != kNvmlSuccess) return;
  memory.total_bytes = Bytes(v1.total);
  memory.free_bytes = Bytes(v1.free);
}

// Adds the processes of one list; false where NVML does not tell them.
bool AddProcesses(NvmlApi& nvml, NvmlDevice handle, NvmlProcessList list,
                  std::map<int64_t, std::optional<int64_t>>& bytes_by_pid) {
  unsigned int room = 64;
  while (room <= kMaxProcesses) {
    std::vector<NvmlProcess> processes(room);
    unsigned int count = room;
    const NvmlReturn result =
        nvml.DeviceGetRunningProcesses(handle, list, &count, processes.data());
    if (result == kNvmlInsufficientSize) {
      // Others may start meanwhile.
      room = std::max(room, count) * 2;
      continue;
    }
    if (result != kNvmlSuccess) return false;
    for (unsigned int i = 0; i < std::min(count, room); ++i) {
      const std::optional<int64_t> bytes = Bytes(processes[i].used_gpu_memory);
      // A process that computes and draws is in both lists with the same bytes.
      std::optional<int64_t>& known = bytes_by_pid[processes[i].pid];
      if (!known.has_value() || (bytes.has_value() && *bytes > *known)) known = bytes;
    }
    return true;
  }
  return false;
}

// False where NVML does not tell.
bool ReadOthers(NvmlApi& nvml, NvmlDevice handle, std::span<const int64_t> own_pids,
                absl::string_view root, std::vector<ProcessUse>& others) {
  std::map<int64_t, std::optional<int64_t>> bytes_by_pid;
  const bool compute = AddProcesses(nvml, handle, NvmlProcessList::kCompute, bytes_by_pid);
  AddProcesses(nvml, handle, NvmlProcessList::kGraphics, bytes_by_pid);
  for (const auto& [pid, bytes] : bytes_by_pid) {
    if (std::find(own_pids.begin(), own_pids.end(), pid) != own_pids.end()) continue;
    others.push_back({.pid = pid, .bytes = bytes, .name = ProcessName(root, pid)});
  }
  return compute;
}

std::optional<std::string> ReadComputeCapability(NvmlApi& nvml, NvmlDevice handle) {
  int major = 0;
  int minor = 0;
  if (nvml.DeviceGetCudaComputeCapability(handle, &major, &minor) != kNvmlSuccess) {
    return std::nullopt;
  }
  return absl::StrCat(major, ".", minor);
}

std::optional<int64_t> ReadSpeed(NvmlApi& nvml, NvmlDevice handle) {
  unsigned int cores = 0;
  unsigned int mhz = 0;
  if (nvml.DeviceGetNumGpuCores(handle, &cores) != kNvmlSuccess ||
      nvml.DeviceGetMaxSmClock(handle, &mhz) != kNvmlSuccess) {
    return std::nullopt;
  }
  return static_cast<int64_t>(cores) * mhz;
}

class Reader {
 public:
  Reader(NvmlApi& nvml, std::span<const int64_t> own_pids, absl::string_view root)
      : nvml_(nvml), own_pids_(own_pids), root_(root) {}

  NvmlGpu ReadGpu(NvmlDevice handle) {
    NvmlGpu gpu;
    ReadDevice(handle, DeviceKind::kCuda, gpu.device);
    NvmlPciInfo pci = {};
    if (nvml_.DeviceGetPciInfo(handle, &pci) == kNvmlSuccess) {
      pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
      gpu.device.pci_bus_id = CudaPciBusId(pci.bus_id);
    }
    gpu.device.compute_capability = ReadComputeCapability(nvml_, handle);
    gpu.speed = ReadSpeed(nvml_, handle);
    unsigned int current = 0;
    unsigned int pending = 0;
    gpu.mig_enabled =
        nvml_.DeviceGetMigMode(handle, &current, &pending) == kNvmlSuccess && current == 1;
    if (gpu.mig_enabled) ReadInstances(handle, gpu);
    return gpu;
  }

  // A GPU whose processes the driver does not tell, if any.
  bool processes_untold() const { return processes_untold_; }

 private:
  void ReadDevice(NvmlDevice handle, DeviceKind kind, Device& device) {
    device.kind = kind;
    device.uuid = Text([&](char* text, unsigned int length) {
                    return nvml_.DeviceGetUuid(handle, text, length);
                  }).value_or("");
    device.name = Text([&](char* text, unsigned int length) {
                    return nvml_.DeviceGetName(handle, text, length);
                  }).value_or("");
    ReadMemory(nvml_, handle, device.memory);
    if (!ReadOthers(nvml_, handle, own_pids_, root_, device.memory.others)) {
      processes_untold_ = true;
    }
  }

  void ReadInstances(NvmlDevice handle, NvmlGpu& gpu) {
    unsigned int slots = 0;
    if (nvml_.DeviceGetMaxMigDeviceCount(handle, &slots) != kNvmlSuccess) return;
    for (unsigned int slot = 0; slot < slots; ++slot) {
      NvmlDevice mig = nullptr;
      if (nvml_.DeviceGetMigDeviceHandleByIndex(handle, slot, &mig) != kNvmlSuccess) continue;
      NvmlInstance instance;
      ReadDevice(mig, DeviceKind::kMig, instance.device);
      unsigned int id = 0;
      if (nvml_.DeviceGetGpuInstanceId(mig, &id) == kNvmlSuccess) instance.gpu_instance = id;
      if (nvml_.DeviceGetComputeInstanceId(mig, &id) == kNvmlSuccess)
        instance.compute_instance = id;
      if (instance.device.name.empty()) {
        instance.device.name = absl::StrCat(gpu.device.name, " MIG");
      }
      instance.device.pci_bus_id = gpu.device.pci_bus_id;
      instance.device.compute_capability = gpu.device.compute_capability;
      gpu.instances.push_back(std::move(instance));
    }
  }

  NvmlApi& nvml_;
  std::span<const int64_t> own_pids_;
  absl::string_view root_;
  bool processes_untold_ = false;
};

}  // namespace

absl::StatusOr<NvmlNode> ReadNvml(NvmlApi& nvml, std::span<const int64_t> own_pids,
                                  absl::string_view root) {
  if (const NvmlReturn result = nvml.Init(); result != kNvmlSuccess) return InitError(result);
  const absl::Cleanup shutdown = [&] { nvml.Shutdown(); };
  NvmlNode node;
  node.driver_version = Text(
      [&](char* text, unsigned int length) { return nvml.SystemGetDriverVersion(text, length); });
  if (int version = 0; nvml.SystemGetCudaDriverVersion(&version) == kNvmlSuccess) {
    node.cuda_driver_version = version;
  }
  unsigned int count = 0;
  if (const NvmlReturn result = nvml.DeviceGetCount(&count); result != kNvmlSuccess) {
    return absl::UnavailableError(absl::StrCat(
        "NVML cannot count the GPUs (nvmlDeviceGetCount: ", static_cast<int>(result), ")"));
  }
  Reader reader(nvml, own_pids, root);
  for (unsigned int index = 0; index < count; ++index) {
    NvmlDevice handle = nullptr;
    const NvmlReturn result = nvml.DeviceGetHandleByIndex(index, &handle);
    if (result == kNvmlSuccess) {
      node.gpus.push_back(reader.ReadGpu(handle));
    } else if (result != kNvmlNoPermission) {
      node.warnings.push_back(
          absl::StrCat("GPU ", index, " of ", count, " does not answer (",
                       result == kNvmlGpuIsLost
                           ? "NVML: GPU is lost; it fell off the bus, reboot to get it back"
                           : absl::StrCat("nvmlDeviceGetHandleByIndex: ", static_cast<int>(result)),
                       ")"));
    }
  }
  if (reader.processes_untold()) {
    node.warnings.push_back(
        "the driver does not tell which processes use the GPUs (WSL, or a MIG instance of another "
        "user): others' use is unknown, not none");
  }
  return node;
}

}  // namespace autobatch
