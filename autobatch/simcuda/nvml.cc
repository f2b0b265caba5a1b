// NVML: the node's GPUs, whatever CUDA_VISIBLE_DEVICES says. No header of it is in our packages.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "autobatch/simcuda/session.h"

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

// Numbers and layouts of NVML's binary interface.
enum Result : int {
  kSuccess = 0,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kGpuIsLost = 15,
};

constexpr unsigned kNoInstance = 0xffffffff;
constexpr unsigned kMostInstances = 7;
constexpr unsigned kClockMegahertz = 1700;
constexpr int kNvLinkUnknown = 255;

struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
// Of the function without a suffix, from before MIG.
struct OldProcessInfo {
  unsigned pid;
  unsigned long long bytes;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
// What its second and third version have in common. A state of 0: not supported.
struct FabricInfo {
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};
struct Utilization {
  unsigned gpu, memory;
};

using Handle = void*;

Device& DeviceOf(Handle handle) { return *static_cast<Device*>(handle); }

const Gpu& GpuOf(Handle handle) {
  return Node::Get().gpus()[static_cast<size_t>(DeviceOf(handle).bus())];
}

// What the driver itself keeps: within NVML's total, outside CUDA's.
uint64_t Reserved(const Device& device) {
  const Card& card = device.card();
  return card.nvml_total > card.total ? card.nvml_total - card.total : 0;
}

// Of a GPU in MIG mode: what its instances have left.
uint64_t FreeOf(Handle handle) {
  Device& device = DeviceOf(handle);
  const Gpu& gpu = GpuOf(handle);
  if (device.instance() || gpu.instances.empty()) return device.FreeBytes();
  uint64_t free = 0;
  for (const auto& instance : gpu.instances) free += instance->FreeBytes();
  return std::min(free, device.card().total);
}

}  // namespace

#define NVML SIMCUDA_EXPORT Result

NVML nvmlInit_v2() { return Node::Get().gpus().empty() ? kDriverNotLoaded : kSuccess; }
NVML nvmlInit() { return nvmlInit_v2(); }
NVML nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }
NVML nvmlShutdown() { return kSuccess; }

NVML nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::snprintf(text, length, "%s", Node::Get().DriverName().c_str());
  return kSuccess;
}

NVML nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = Node::Get().driver_version();
  return kSuccess;
}
NVML nvmlSystemGetCudaDriverVersion(int* version) {
  return nvmlSystemGetCudaDriverVersion_v2(version);
}

NVML nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(Node::Get().gpus().size());
  return kSuccess;
}
NVML nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* handle) {
  const std::vector<Gpu>& gpus = Node::Get().gpus();
  if (index >= gpus.size()) return kInvalidArgument;
  if (DeviceLost()) return kGpuIsLost;
  *handle = gpus[index].device.get();
  return kSuccess;
}
NVML nvmlDeviceGetHandleByIndex(unsigned index, Handle* handle) {
  return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

NVML nvmlDeviceGetHandleByUUID(const char* uuid, Handle* handle) {
  if (DeviceLost()) return kGpuIsLost;
  for (const Gpu& gpu : Node::Get().gpus()) {
    if (gpu.device->UuidText() == uuid) *handle = gpu.device.get();
    if (gpu.device->UuidText() == uuid) return kSuccess;
    for (const auto& instance : gpu.instances) {
      if (instance->UuidText() != uuid) continue;
      *handle = instance.get();
      return kSuccess;
    }
  }
  return kNotFound;
}

NVML nvmlDeviceGetHandleByPciBusId_v2(const char* id, Handle* handle) {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  if (std::sscanf(id, "%x:%x:%x", &domain, &bus, &device) != 3 || bus == 0) return kNotFound;
  return nvmlDeviceGetHandleByIndex_v2(bus - 1, handle) == kSuccess ? kSuccess : kNotFound;
}

NVML nvmlDeviceGetIndex(Handle handle, unsigned* index) {
  *index = static_cast<unsigned>(DeviceOf(handle).bus());
  return kSuccess;
}

NVML nvmlDeviceGetUUID(Handle handle, char* text, unsigned length) {
  std::snprintf(text, length, "%s", DeviceOf(handle).UuidText().c_str());
  return kSuccess;
}

NVML nvmlDeviceGetName(Handle handle, char* text, unsigned length) {
  std::snprintf(text, length, "%s", DeviceOf(handle).card().name.c_str());
  return kSuccess;
}

NVML nvmlDeviceGetPciInfo_v3(Handle handle, PciInfo* pci) {
  std::memset(pci, 0, sizeof(*pci));
  pci->bus = static_cast<unsigned>(DeviceOf(handle).bus()) + 1;
  std::snprintf(pci->bus_id_legacy, sizeof(pci->bus_id_legacy), "0000:%02X:00.0", pci->bus);
  std::snprintf(pci->bus_id, sizeof(pci->bus_id), "00000000:%02X:00.0", pci->bus);
  return kSuccess;
}

NVML nvmlDeviceGetMemoryInfo_v2(Handle handle, MemoryV2* memory) {
  if (DeviceLost()) return kGpuIsLost;
  const Device& device = DeviceOf(handle);
  memory->reserved = Reserved(device);
  memory->total = device.card().total + memory->reserved;
  memory->free = FreeOf(handle);
  memory->used = device.card().total - memory->free;
  return kSuccess;
}

// The older one counts what the driver keeps as used.
NVML nvmlDeviceGetMemoryInfo(Handle handle, Memory* memory) {
  MemoryV2 all = {};
  const Result result = nvmlDeviceGetMemoryInfo_v2(handle, &all);
  if (result == kSuccess) {
    *memory = {.total = all.total, .free = all.free, .used = all.used + all.reserved};
  }
  return result;
}

NVML nvmlDeviceGetComputeRunningProcesses_v3(Handle handle, unsigned* count,
                                             ProcessInfo* processes) {
  std::vector<ProcessInfo> found;
  const Gpu& gpu = GpuOf(handle);
  const bool whole = !DeviceOf(handle).instance();
  if (whole && gpu.instances.empty()) {
    for (const ProcessUse& use : DeviceOf(handle).Processes()) {
      found.push_back({static_cast<unsigned>(use.pid), use.bytes, kNoInstance, kNoInstance});
    }
  }
  for (size_t i = 0; i < gpu.instances.size(); ++i) {
    if (!whole && gpu.instances[i].get() != &DeviceOf(handle)) continue;
    for (const ProcessUse& use : gpu.instances[i]->Processes()) {
      found.push_back({static_cast<unsigned>(use.pid), use.bytes, static_cast<unsigned>(i) + 1, 0});
    }
  }
  const unsigned room = *count;
  *count = static_cast<unsigned>(found.size());
  if (room < found.size()) return kInsufficientSize;
  std::copy(found.begin(), found.end(), processes);
  return kSuccess;
}
NVML nvmlDeviceGetComputeRunningProcesses_v2(Handle handle, unsigned* count,
                                             ProcessInfo* processes) {
  return nvmlDeviceGetComputeRunningProcesses_v3(handle, count, processes);
}

NVML nvmlDeviceGetComputeRunningProcesses(Handle handle, unsigned* count,
                                          OldProcessInfo* processes) {
  std::vector<ProcessInfo> found(*count);
  const Result result = nvmlDeviceGetComputeRunningProcesses_v3(handle, count, found.data());
  if (result != kSuccess) return result;
  for (unsigned i = 0; i < *count; ++i) processes[i] = {found[i].pid, found[i].bytes};
  return kSuccess;
}

NVML nvmlDeviceGetGraphicsRunningProcesses_v3(Handle, unsigned* count, ProcessInfo*) {
  *count = 0;
  return kSuccess;
}

NVML nvmlDeviceGetCudaComputeCapability(Handle handle, int* major, int* minor) {
  *major = DeviceOf(handle).card().major;
  *minor = DeviceOf(handle).card().minor;
  return kSuccess;
}

NVML nvmlDeviceGetNumGpuCores(Handle handle, unsigned* cores) {
  const Card& card = DeviceOf(handle).card();
  *cores = static_cast<unsigned>(card.multiprocessors * CoresPerMultiprocessor(card));
  return kSuccess;
}

NVML nvmlDeviceGetMaxClockInfo(Handle, int, unsigned* megahertz) {
  *megahertz = kClockMegahertz;
  return kSuccess;
}

NVML nvmlDeviceGetMigMode(Handle handle, unsigned* current, unsigned* pending) {
  if (DeviceOf(handle).card().major < 8) return kNotSupported;
  *current = *pending = GpuOf(handle).instances.empty() ? 0 : 1;
  return kSuccess;
}

NVML nvmlDeviceGetMaxMigDeviceCount(Handle handle, unsigned* count) {
  *count = GpuOf(handle).instances.empty() ? 0 : kMostInstances;
  return kSuccess;
}

NVML nvmlDeviceGetMigDeviceHandleByIndex(Handle handle, unsigned index, Handle* instance) {
  const Gpu& gpu = GpuOf(handle);
  if (index >= gpu.instances.size()) return kNotFound;
  *instance = gpu.instances[index].get();
  return kSuccess;
}

NVML nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Handle instance, Handle* handle) {
  *handle = GpuOf(instance).device.get();
  return kSuccess;
}

NVML nvmlDeviceGetGpuInstanceId(Handle handle, unsigned* id) {
  if (!DeviceOf(handle).instance()) return kNotFound;
  *id = static_cast<unsigned>(*DeviceOf(handle).instance()) + 1;
  return kSuccess;
}

NVML nvmlDeviceGetComputeInstanceId(Handle handle, unsigned* id) {
  if (!DeviceOf(handle).instance()) return kNotFound;
  *id = 0;
  return kSuccess;
}

NVML nvmlDeviceIsMigDeviceHandle(Handle handle, unsigned* is_instance) {
  *is_instance = DeviceOf(handle).instance() ? 1 : 0;
  return kSuccess;
}

NVML nvmlDeviceGetUtilizationRates(Handle, Utilization* rates) {
  *rates = {};
  return kSuccess;
}

NVML nvmlDeviceGetTemperature(Handle, int, unsigned* celsius) {
  *celsius = 30;
  return kSuccess;
}

NVML nvmlDeviceGetPowerUsage(Handle, unsigned* milliwatts) {
  *milliwatts = 50000;
  return kSuccess;
}

NVML nvmlDeviceGetNvLinkRemoteDeviceType(Handle, unsigned, int* type) {
  *type = kNvLinkUnknown;
  return kNotSupported;
}
NVML nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle, unsigned, PciInfo*) { return kNotSupported; }
NVML nvmlDeviceGetP2PStatus(Handle, Handle, int, int*) { return kNotSupported; }

// No card here is part of a fabric. Newer frameworks take an error for one of the driver's.
NVML nvmlDeviceGetGpuFabricInfoV(Handle, FabricInfo* info) {
  *info = {.version = info->version};
  return kSuccess;
}

SIMCUDA_EXPORT const char* nvmlErrorString(Result result) {
  switch (result) {
    case kSuccess:
      return "Success";
    case kInvalidArgument:
      return "Invalid Argument";
    case kNotSupported:
      return "Not Supported";
    case kNotFound:
      return "Not Found";
    case kInsufficientSize:
      return "Insufficient Size";
    case kDriverNotLoaded:
      return "Driver Not Loaded";
    case kGpuIsLost:
      return "GPU is lost";
  }
  return "Unknown Error";
}
