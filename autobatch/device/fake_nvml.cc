#include "autobatch/device/fake_nvml.h"

#include <algorithm>
#include <cstring>

namespace autobatch {
namespace {

FakeNvmlDevice& Of(NvmlDevice handle) { return *static_cast<FakeNvmlDevice*>(handle); }

NvmlReturn Copy(const std::optional<std::string>& from, char* to, unsigned int length) {
  if (!from.has_value()) return kNvmlNotSupported;
  if (from->size() >= length) return kNvmlInsufficientSize;
  std::memcpy(to, from->c_str(), from->size() + 1);
  return kNvmlSuccess;
}

template <typename From, typename To>
NvmlReturn Give(const std::optional<From>& from, To* to) {
  if (!from.has_value()) return kNvmlNotSupported;
  *to = static_cast<To>(*from);
  return kNvmlSuccess;
}

}  // namespace

NvmlReturn FakeNvml::Init() {
  if (init == kNvmlSuccess) ++open;
  return init;
}

NvmlReturn FakeNvml::Shutdown() {
  --open;
  return kNvmlSuccess;
}

NvmlReturn FakeNvml::SystemGetDriverVersion(char* version, unsigned int length) {
  return Copy(driver_version, version, length);
}

NvmlReturn FakeNvml::SystemGetCudaDriverVersion(int* version) {
  return Give(cuda_driver_version, version);
}

NvmlReturn FakeNvml::DeviceGetCount(unsigned int* number) {
  *number = static_cast<unsigned int>(gpus.size());
  return open > 0 ? count : kNvmlUninitialized;
}

NvmlReturn FakeNvml::DeviceGetHandleByIndex(unsigned int index, NvmlDevice* device) {
  if (index >= gpus.size()) return kNvmlInvalidArgument;
  *device = &gpus[index];
  return gpus[index].handle;
}

NvmlReturn FakeNvml::DeviceGetUuid(NvmlDevice device, char* uuid, unsigned int length) {
  return Copy(Of(device).uuid, uuid, length);
}

NvmlReturn FakeNvml::DeviceGetName(NvmlDevice device, char* name, unsigned int length) {
  return Copy(Of(device).name, name, length);
}

NvmlReturn FakeNvml::DeviceGetPciInfo(NvmlDevice device, NvmlPciInfo* pci) {
  return Copy(Of(device).bus_id, pci->bus_id, sizeof(pci->bus_id));
}

NvmlReturn FakeNvml::DeviceGetMemoryInfo(NvmlDevice device, NvmlMemory* memory) {
  return Give(Of(device).memory, memory);
}

NvmlReturn FakeNvml::DeviceGetMemoryInfoV2(NvmlDevice device, NvmlMemoryV2* memory) {
  const FakeNvmlDevice& gpu = Of(device);
  if (!gpu.reserved.has_value()) return kNvmlFunctionNotFound;
  if (memory->version != kNvmlMemoryV2Version) return kNvmlInvalidArgument;
  if (!gpu.memory.has_value()) return kNvmlNotSupported;
  *memory = {.version = memory->version,
             .total = gpu.memory->total,
             .reserved = *gpu.reserved,
             .free = gpu.memory->free,
             .used = gpu.memory->used};
  return kNvmlSuccess;
}

NvmlReturn FakeNvml::DeviceGetRunningProcesses(NvmlDevice device, NvmlProcessList list,
                                               unsigned int* number, NvmlProcess* processes) {
  const FakeNvmlDevice& gpu = Of(device);
  const auto& told = list == NvmlProcessList::kCompute ? gpu.compute : gpu.graphics;
  if (!told.has_value()) return kNvmlNotSupported;
  const unsigned int room = *number;
  *number = static_cast<unsigned int>(told->size());
  if (*number > room) return kNvmlInsufficientSize;
  std::copy(told->begin(), told->end(), processes);
  return kNvmlSuccess;
}

NvmlReturn FakeNvml::DeviceGetCudaComputeCapability(NvmlDevice device, int* major, int* minor) {
  *minor = Of(device).compute_capability_minor;
  return Give(Of(device).compute_capability_major, major);
}

NvmlReturn FakeNvml::DeviceGetNumGpuCores(NvmlDevice device, unsigned int* cores) {
  return Give(Of(device).cores, cores);
}

NvmlReturn FakeNvml::DeviceGetMaxSmClock(NvmlDevice device, unsigned int* mhz) {
  return Give(Of(device).mhz, mhz);
}

NvmlReturn FakeNvml::DeviceGetMigMode(NvmlDevice device, unsigned int* current,
                                      unsigned int* pending) {
  *pending = 0;
  return Give(Of(device).mig_enabled, current);
}

NvmlReturn FakeNvml::DeviceGetMaxMigDeviceCount(NvmlDevice device, unsigned int* number) {
  *number = static_cast<unsigned int>(Of(device).instances.size());
  return kNvmlSuccess;
}

NvmlReturn FakeNvml::DeviceGetMigDeviceHandleByIndex(NvmlDevice device, unsigned int index,
                                                     NvmlDevice* mig) {
  FakeNvmlDevice& instance = Of(device).instances[index];
  if (instance.uuid.empty()) return kNvmlNotFound;
  *mig = &instance;
  return kNvmlSuccess;
}

NvmlReturn FakeNvml::DeviceGetGpuInstanceId(NvmlDevice mig, unsigned int* id) {
  *id = Of(mig).gpu_instance;
  return kNvmlSuccess;
}

NvmlReturn FakeNvml::DeviceGetComputeInstanceId(NvmlDevice mig, unsigned int* id) {
  *id = Of(mig).compute_instance;
  return kNvmlSuccess;
}

}  // namespace autobatch
