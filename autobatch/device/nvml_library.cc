#include "autobatch/device/nvml_library.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/device/dynamic_library.h"
#include "autobatch/device/library_function.h"

namespace autobatch {
namespace {

// Of the process functions without a suffix, from before MIG.
struct OldProcess {
  unsigned int pid;
  unsigned long long used_gpu_memory;
};

constexpr int kSmClock = 1;

template <typename... Arguments>
using Function = LibraryFunction<NvmlReturn, kNvmlFunctionNotFound, Arguments...>;

class NvmlLibrary final : public NvmlApi {
 public:
  explicit NvmlLibrary(DynamicLibrary library) : library_(std::move(library)) {}

  NvmlReturn Init() override { return init_(); }
  NvmlReturn Shutdown() override { return shutdown_(); }
  NvmlReturn SystemGetDriverVersion(char* version, unsigned int length) override {
    return driver_version_(version, length);
  }
  NvmlReturn SystemGetCudaDriverVersion(int* version) override {
    return cuda_driver_version_(version);
  }
  NvmlReturn DeviceGetCount(unsigned int* count) override { return count_(count); }
  NvmlReturn DeviceGetHandleByIndex(unsigned int index, NvmlDevice* device) override {
    return handle_by_index_(index, device);
  }
  NvmlReturn DeviceGetUuid(NvmlDevice device, char* uuid, unsigned int length) override {
    return uuid_(device, uuid, length);
  }
  NvmlReturn DeviceGetName(NvmlDevice device, char* name, unsigned int length) override {
    return name_(device, name, length);
  }
  NvmlReturn DeviceGetPciInfo(NvmlDevice device, NvmlPciInfo* pci) override {
    return pci_(device, pci);
  }
  NvmlReturn DeviceGetMemoryInfo(NvmlDevice device, NvmlMemory* memory) override {
    return memory_(device, memory);
  }
  NvmlReturn DeviceGetMemoryInfoV2(NvmlDevice device, NvmlMemoryV2* memory) override {
    return memory_v2_(device, memory);
  }
  NvmlReturn DeviceGetRunningProcesses(NvmlDevice device, NvmlProcessList list, unsigned int* count,
                                       NvmlProcess* processes) override {
    const Processes& functions = list == NvmlProcessList::kCompute ? compute_ : graphics_;
    if (functions.current.found()) return functions.current(device, count, processes);
    std::vector<OldProcess> old(*count);
    const unsigned int room = *count;
    const NvmlReturn result = functions.old(device, count, old.data());
    for (unsigned int i = 0; result == kNvmlSuccess && i < *count && i < room; ++i) {
      processes[i] = {.pid = old[i].pid, .used_gpu_memory = old[i].used_gpu_memory};
    }
    return result;
  }
  NvmlReturn DeviceGetCudaComputeCapability(NvmlDevice device, int* major, int* minor) override {
    return compute_capability_(device, major, minor);
  }
  NvmlReturn DeviceGetNumGpuCores(NvmlDevice device, unsigned int* cores) override {
    return cores_(device, cores);
  }
  NvmlReturn DeviceGetMaxSmClock(NvmlDevice device, unsigned int* mhz) override {
    return max_clock_(device, kSmClock, mhz);
  }
  NvmlReturn DeviceGetMigMode(NvmlDevice device, unsigned int* current,
                              unsigned int* pending) override {
    return mig_mode_(device, current, pending);
  }
  NvmlReturn DeviceGetMaxMigDeviceCount(NvmlDevice device, unsigned int* count) override {
    return max_mig_count_(device, count);
  }
  NvmlReturn DeviceGetMigDeviceHandleByIndex(NvmlDevice device, unsigned int index,
                                             NvmlDevice* mig) override {
    return mig_by_index_(device, index, mig);
  }
  NvmlReturn DeviceGetGpuInstanceId(NvmlDevice mig, unsigned int* id) override {
    return gpu_instance_(mig, id);
  }
  NvmlReturn DeviceGetComputeInstanceId(NvmlDevice mig, unsigned int* id) override {
    return compute_instance_(mig, id);
  }

 private:
  struct Processes {
    Processes(const DynamicLibrary& library, const std::string& name)
        : current(library, name + "_v3", name + "_v2"), old(library, name) {}

    // _v3 (driver 510) and _v2 (driver 450) have the same layout.
    Function<NvmlDevice, unsigned int*, NvmlProcess*> current;
    Function<NvmlDevice, unsigned int*, OldProcess*> old;
  };

  DynamicLibrary library_;
  Function<> init_ = {library_, "nvmlInit_v2"};
  Function<> shutdown_ = {library_, "nvmlShutdown"};
  Function<char*, unsigned int> driver_version_ = {library_, "nvmlSystemGetDriverVersion"};
  Function<int*> cuda_driver_version_ = {library_, "nvmlSystemGetCudaDriverVersion_v2"};
  Function<unsigned int*> count_ = {library_, "nvmlDeviceGetCount_v2"};
  Function<unsigned int, NvmlDevice*> handle_by_index_ = {library_,
                                                          "nvmlDeviceGetHandleByIndex_v2"};
  Function<NvmlDevice, char*, unsigned int> uuid_ = {library_, "nvmlDeviceGetUUID"};
  Function<NvmlDevice, char*, unsigned int> name_ = {library_, "nvmlDeviceGetName"};
  Function<NvmlDevice, NvmlPciInfo*> pci_ = {library_, "nvmlDeviceGetPciInfo_v3"};
  Function<NvmlDevice, NvmlMemory*> memory_ = {library_, "nvmlDeviceGetMemoryInfo"};
  Function<NvmlDevice, NvmlMemoryV2*> memory_v2_ = {library_, "nvmlDeviceGetMemoryInfo_v2"};
  Function<NvmlDevice, int*, int*> compute_capability_ = {library_,
                                                          "nvmlDeviceGetCudaComputeCapability"};
  Function<NvmlDevice, unsigned int*> cores_ = {library_, "nvmlDeviceGetNumGpuCores"};
  Function<NvmlDevice, int, unsigned int*> max_clock_ = {library_, "nvmlDeviceGetMaxClockInfo"};
  Function<NvmlDevice, unsigned int*, unsigned int*> mig_mode_ = {library_, "nvmlDeviceGetMigMode"};
  Function<NvmlDevice, unsigned int*> max_mig_count_ = {library_, "nvmlDeviceGetMaxMigDeviceCount"};
  Function<NvmlDevice, unsigned int, NvmlDevice*> mig_by_index_ = {
      library_, "nvmlDeviceGetMigDeviceHandleByIndex"};
  Function<NvmlDevice, unsigned int*> gpu_instance_ = {library_, "nvmlDeviceGetGpuInstanceId"};
  Function<NvmlDevice, unsigned int*> compute_instance_ = {library_,
                                                           "nvmlDeviceGetComputeInstanceId"};
  Processes compute_ = {library_, "nvmlDeviceGetComputeRunningProcesses"};
  Processes graphics_ = {library_, "nvmlDeviceGetGraphicsRunningProcesses"};
};

}  // namespace

absl::StatusOr<std::unique_ptr<NvmlApi>> LoadNvml(const std::string& name) {
  AB_ASSIGN_OR_RETURN(DynamicLibrary library, DynamicLibrary::Open(name));
  return std::make_unique<NvmlLibrary>(std::move(library));
}

}  // namespace autobatch
