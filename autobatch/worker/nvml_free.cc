#include "autobatch/worker/nvml_free.h"

#include <dlfcn.h>

#include <cstdint>
#include <optional>
#include <string>

namespace autobatch {
namespace {

// nvml.h is not in the packages that we build from; these few prototypes have not changed since
// NVML exists.
struct NvmlMemory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};
using NvmlDevice = void*;

class Nvml {
 public:
  Nvml() {
    library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) return;
    auto* init = Symbol<int()>("nvmlInit_v2");
    by_uuid_ = Symbol<int(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByUUID");
    memory_ = Symbol<int(NvmlDevice, NvmlMemory*)>("nvmlDeviceGetMemoryInfo");
    ready_ = init != nullptr && by_uuid_ != nullptr && memory_ != nullptr && init() == 0;
  }

  std::optional<int64_t> Free(const std::string& uuid) const {
    NvmlDevice device = nullptr;
    NvmlMemory memory;
    if (!ready_ || by_uuid_(uuid.c_str(), &device) != 0 || memory_(device, &memory) != 0) {
      return std::nullopt;
    }
    return static_cast<int64_t>(memory.free);
  }

 private:
  template <typename F>
  F* Symbol(const char* name) {
    return reinterpret_cast<F*>(dlsym(library_, name));
  }

  void* library_ = nullptr;
  int (*by_uuid_)(const char*, NvmlDevice*) = nullptr;
  int (*memory_)(NvmlDevice, NvmlMemory*) = nullptr;
  bool ready_ = false;
};

}  // namespace

std::optional<int64_t> NvmlFreeBytes(const std::string& uuid) {
  // Never closed: the driver's library is in use until the process ends.
  static const Nvml* const nvml = new Nvml;
  return nvml->Free(uuid);
}

}  // namespace autobatch
