#include "autobatch/device/nvml_library.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/device/dynamic_library.h"

namespace autobatch {
namespace {

// Of the process functions without a suffix, from before MIG.
struct OldProcess {
  unsigned int pid;
  unsigned long long used_gpu_memory;
};

constexpr int kSmClock = 1;

template <typename... Arguments>
using Function = int(Arguments...);

using ProcessFunction = Function<NvmlDevice, unsigned int*, NvmlProcess*>;
using OldProcessFunction = Function<NvmlDevice, unsigned int*, OldProcess*>;

template <typename Pointer, typename... Arguments>
NvmlReturn Call(Pointer function, Arguments... arguments) {
  if (function == nullptr) return kNvmlFunctionNotFound;
  return static_cast<NvmlReturn>(function(arguments...));
}

class NvmlLibrary final : public NvmlApi {
 public:
  explicit NvmlLibrary(DynamicLibrary library) : library_(std::move(library)) {
    library_.Find("nvmlInit_v2", init_);
    library_.Find("nvmlShutdown", shutdown_);
    library_.Find("nvmlSystemGetDriverVersion", driver_version_);
    library_.Find("nvmlSystemGetCudaDriverVersion_v2", cuda_driver_version_);
    library_.Find("nvmlDeviceGetCount_v2", count_);
    library_.Find("nvmlDeviceGetHandleByIndex_v2", handle_by_index_);
    library_.Find("nvmlDeviceGetUUID", uuid_);
    library_.Find("nvmlDeviceGetName", name_);
    library_.Find("nvmlDeviceGetPciInfo_v3", pci_);
    library_.Find("nvmlDeviceGetMemoryInfo", memory_);
    library_.Find("nvmlDeviceGetMemoryInfo_v2", memory_v2_);
    library_.Find("nvmlDeviceGetCudaComputeCapability", compute_capability_);
    library_.Find("nvmlDeviceGetNumGpuCores", cores_);
    library_.Find("nvmlDeviceGetMaxClockInfo", max_clock_);
    library_.Find("nvmlDeviceGetMigMode", mig_mode_);
    library_.Find("nvmlDeviceGetMaxMigDeviceCount", max_mig_count_);
    library_.Find("nvmlDeviceGetMigDeviceHandleByIndex", mig_by_index_);
    library_.Find("nvmlDeviceGetGpuInstanceId", gpu_instance_);
    library_.Find("nvmlDeviceGetComputeInstanceId", compute_instance_);
    FindProcesses("nvmlDeviceGetComputeRunningProcesses", compute_);
    FindProcesses("nvmlDeviceGetGraphicsRunningProcesses", graphics_);
  }

  NvmlReturn Init() override { return Call(init_); }
  NvmlReturn Shutdown() override { return Call(shutdown_); }
  NvmlReturn SystemGetDriverVersion(char* version, unsigned int length) override {
    return Call(driver_version_, version, length);
  }
  NvmlReturn SystemGetCudaDriverVersion(int* version) override {
    return Call(cuda_driver_version_, version);
  }
  NvmlReturn DeviceGetCount(unsigned int* count) override { return Call(count_, count); }
  NvmlReturn DeviceGetHandleByIndex(unsigned int index, NvmlDevice* device) override {
    return Call(handle_by_index_, index, device);
  }
  NvmlReturn DeviceGetUuid(NvmlDevice device, char* uuid, unsigned int length) override {
    return Call(uuid_, device, uuid, length);
  }
  NvmlReturn DeviceGetName(NvmlDevice device, char* name, unsigned int length) override {
    return Call(name_, device, name, length);
  }
  NvmlReturn DeviceGetPciInfo(NvmlDevice device, NvmlPciInfo* pci) override {
    return Call(pci_, device, pci);
  }
  NvmlReturn DeviceGetMemoryInfo(NvmlDevice device, NvmlMemory* memory) override {
    return Call(memory_, device, memory);
  }
  NvmlReturn DeviceGetMemoryInfoV2(NvmlDevice device, NvmlMemoryV2* memory) override {
    return Call(memory_v2_, device, memory);
  }
  NvmlReturn DeviceGetRunningProcesses(NvmlDevice device, NvmlProcessList list, unsigned int* count,
                                       NvmlProcess* processes) override {
    const Processes& functions = list == NvmlProcessList::kCompute ? compute_ : graphics_;
    if (functions.current != nullptr) return Call(functions.current, device, count, processes);
    std::vector<OldProcess> old(*count);
    const unsigned int room = *count;
    const NvmlReturn result = Call(functions.old, device, count, old.data());
    for (unsigned int i = 0; result == kNvmlSuccess && i < *count && i < room; ++i) {
      processes[i] = {.pid = old[i].pid, .used_gpu_memory = old[i].used_gpu_memory};
    }
    return result;
  }
  NvmlReturn DeviceGetCudaComputeCapability(NvmlDevice device, int* major, int* minor) override {
    return Call(compute_capability_, device, major, minor);
  }
  NvmlReturn DeviceGetNumGpuCores(NvmlDevice device, unsigned int* cores) override {
    return Call(cores_, device, cores);
  }
  NvmlReturn DeviceGetMaxSmClock(NvmlDevice device, unsigned int* mhz) override {
    return Call(max_clock_, device, kSmClock, mhz);
  }
  NvmlReturn DeviceGetMigMode(NvmlDevice device, unsigned int* current,
                              unsigned int* pending) override {
    return Call(mig_mode_, device, current, pending);
  }
  NvmlReturn DeviceGetMaxMigDeviceCount(NvmlDevice device, unsigned int* count) override {
    return Call(max_mig_count_, device, count);
  }
  NvmlReturn DeviceGetMigDeviceHandleByIndex(NvmlDevice device, unsigned int index,
                                             NvmlDevice* mig) override {
    return Call(mig_by_index_, device, index, mig);
  }
  NvmlReturn DeviceGetGpuInstanceId(NvmlDevice mig, unsigned int* id) override {
    return Call(gpu_instance_, mig, id);
  }
  NvmlReturn DeviceGetComputeInstanceId(NvmlDevice mig, unsigned int* id) override {
    return Call(compute_instance_, mig, id);
  }

 private:
  struct Processes {
    ProcessFunction* current = nullptr;
    OldProcessFunction* old = nullptr;
  };

  // _v3 (driver 510) and _v2 (driver 450) have the same layout.
  void FindProcesses(const std::string& name, Processes& functions) {
    library_.Find((name + "_v3").c_str(), functions.current);
    if (functions.current == nullptr) library_.Find((name + "_v2").c_str(), functions.current);
    library_.Find(name.c_str(), functions.old);
  }

  DynamicLibrary library_;
  Function<>* init_ = nullptr;
  Function<>* shutdown_ = nullptr;
  Function<char*, unsigned int>* driver_version_ = nullptr;
  Function<int*>* cuda_driver_version_ = nullptr;
  Function<unsigned int*>* count_ = nullptr;
  Function<unsigned int, NvmlDevice*>* handle_by_index_ = nullptr;
  Function<NvmlDevice, char*, unsigned int>* uuid_ = nullptr;
  Function<NvmlDevice, char*, unsigned int>* name_ = nullptr;
  Function<NvmlDevice, NvmlPciInfo*>* pci_ = nullptr;
  Function<NvmlDevice, NvmlMemory*>* memory_ = nullptr;
  Function<NvmlDevice, NvmlMemoryV2*>* memory_v2_ = nullptr;
  Function<NvmlDevice, int*, int*>* compute_capability_ = nullptr;
  Function<NvmlDevice, unsigned int*>* cores_ = nullptr;
  Function<NvmlDevice, int, unsigned int*>* max_clock_ = nullptr;
  Function<NvmlDevice, unsigned int*, unsigned int*>* mig_mode_ = nullptr;
  Function<NvmlDevice, unsigned int*>* max_mig_count_ = nullptr;
  Function<NvmlDevice, unsigned int, NvmlDevice*>* mig_by_index_ = nullptr;
  Function<NvmlDevice, unsigned int*>* gpu_instance_ = nullptr;
  Function<NvmlDevice, unsigned int*>* compute_instance_ = nullptr;
  Processes compute_;
  Processes graphics_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<NvmlApi>> LoadNvml(const std::string& name) {
  AB_ASSIGN_OR_RETURN(DynamicLibrary library, DynamicLibrary::Open(name));
  return std::make_unique<NvmlLibrary>(std::move(library));
}

}  // namespace autobatch
