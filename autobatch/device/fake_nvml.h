#ifndef AUTOBATCH_DEVICE_FAKE_NVML_H_
#define AUTOBATCH_DEVICE_FAKE_NVML_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autobatch/device/nvml_api.h"

namespace autobatch {

// A node told in a table; an absent value answers "not supported", as N/A in nvidia-smi does.
struct FakeNvmlDevice {
  std::string uuid;
  std::optional<std::string> name = "NVIDIA A100-SXM4-80GB";
  std::optional<std::string> bus_id;
  std::optional<NvmlMemory> memory;
  // Kept by driver and firmware; absent: the library has no second version of the memory call.
  std::optional<unsigned long long> reserved;
  std::optional<std::vector<NvmlProcess>> compute = std::vector<NvmlProcess>();
  std::optional<std::vector<NvmlProcess>> graphics = std::vector<NvmlProcess>();
  std::optional<int> compute_capability_major;
  int compute_capability_minor = 0;
  std::optional<unsigned int> cores;
  std::optional<unsigned int> mhz;
  std::optional<bool> mig_enabled;
  // Of a GPU in MIG mode; an instance without a UUID is an empty slot.
  std::vector<FakeNvmlDevice> instances;
  unsigned int gpu_instance = 0;
  unsigned int compute_instance = 0;
  // What asking for the handle answers.
  NvmlReturn handle = kNvmlSuccess;
};

class FakeNvml final : public NvmlApi {
 public:
  std::vector<FakeNvmlDevice> gpus;
  std::optional<std::string> driver_version = "580.65.06";
  std::optional<int> cuda_driver_version = 13000;
  NvmlReturn init = kNvmlSuccess;
  NvmlReturn count = kNvmlSuccess;
  // Init calls without a Shutdown.
  int open = 0;

  NvmlReturn Init() override;
  NvmlReturn Shutdown() override;
  NvmlReturn SystemGetDriverVersion(char* version, unsigned int length) override;
  NvmlReturn SystemGetCudaDriverVersion(int* version) override;
  NvmlReturn DeviceGetCount(unsigned int* number) override;
  NvmlReturn DeviceGetHandleByIndex(unsigned int index, NvmlDevice* device) override;
  NvmlReturn DeviceGetUuid(NvmlDevice device, char* uuid, unsigned int length) override;
  NvmlReturn DeviceGetName(NvmlDevice device, char* name, unsigned int length) override;
  NvmlReturn DeviceGetPciInfo(NvmlDevice device, NvmlPciInfo* pci) override;
  NvmlReturn DeviceGetMemoryInfo(NvmlDevice device, NvmlMemory* memory) override;
  NvmlReturn DeviceGetMemoryInfoV2(NvmlDevice device, NvmlMemoryV2* memory) override;
  NvmlReturn DeviceGetRunningProcesses(NvmlDevice device, NvmlProcessList list,
                                       unsigned int* number, NvmlProcess* processes) override;
  NvmlReturn DeviceGetCudaComputeCapability(NvmlDevice device, int* major, int* minor) override;
  NvmlReturn DeviceGetNumGpuCores(NvmlDevice device, unsigned int* cores) override;
  NvmlReturn DeviceGetMaxSmClock(NvmlDevice device, unsigned int* mhz) override;
  NvmlReturn DeviceGetMigMode(NvmlDevice device, unsigned int* current,
                              unsigned int* pending) override;
  NvmlReturn DeviceGetMaxMigDeviceCount(NvmlDevice device, unsigned int* number) override;
  NvmlReturn DeviceGetMigDeviceHandleByIndex(NvmlDevice device, unsigned int index,
                                             NvmlDevice* mig) override;
  NvmlReturn DeviceGetGpuInstanceId(NvmlDevice mig, unsigned int* id) override;
  NvmlReturn DeviceGetComputeInstanceId(NvmlDevice mig, unsigned int* id) override;
};

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_FAKE_NVML_H_
