#include "autobatch/simcuda/runtime_version.h"

#include <dlfcn.h>

#include <atomic>
#include <initializer_list>
#include <string>

namespace autobatch::simcuda {
namespace {

constexpr int kDefault = 13000;

// A function of a library that is loaded already. The real ones know their versions best, and these
// functions need no device.
template <typename Function>
Function* Loaded(const char* library, const char* symbol) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return handle == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle, symbol));
}

int AskInt(std::initializer_list<const char*> libraries, const char* symbol) {
  for (const char* const library : libraries) {
    int version = 0;
    auto* function = Loaded<int(int*)>(library, symbol);
    if (function != nullptr && function(&version) == 0 && version != 0) return version;
  }
  return 0;
}

size_t AskSize(std::initializer_list<const char*> libraries, const char* symbol) {
  for (const char* const library : libraries) {
    if (auto* function = Loaded<size_t()>(library, symbol)) return function();
  }
  return 0;
}

}  // namespace

int RuntimeVersion() {
  // Asked again until there is one: a program may use NVML before it loads its framework.
  static std::atomic<int> known = 0;
  if (known == 0) {
    known = AskInt({"libcudart.so.13", "libcudart.so.12", "libcudart.so.14", "libcudart.so.11.0",
                    "libcudart.so.10.2"},
                   "cudaRuntimeGetVersion");
  }
  return known == 0 ? kDefault : known.load();
}

std::string UnsupportedRuntime() {
  const int major = RuntimeVersion() / 1000;
  if (major == 12 || major == 13) return "";
  return "the CUDA runtime is " + std::to_string(major) + "." +
         std::to_string(RuntimeVersion() % 1000 / 10) + "; 12 and 13 can be simulated";
}

size_t CublasVersion() {
  static const size_t version =
      AskSize({"libcublasLt.so.13", "libcublasLt.so.12"}, "cublasLtGetVersion");
  return version;
}

size_t CudnnVersion() {
  static const size_t version = AskSize({"libcudnn.so.9", "libcudnn.so.8"}, "cudnnGetVersion");
  return version;
}

int NcclVersion() {
  static const int version = AskInt({"libnccl.so.2"}, "ncclGetVersion");
  return version;
}

}  // namespace autobatch::simcuda
