// How programs find functions at run time: the driver's entry points, and dlopen.

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <string>
#include <string_view>

#include "autobatch/simcuda/session.h"

#undef cudaGetDriverEntryPoint
#undef cudaGetDriverEntryPointByVersion

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

using Dlopen = void* (*)(const char*, int);

// Where this library lies.
const char* OwnPath() {
  static const Dl_info info = [] {
    Dl_info found = {};
    dladdr(reinterpret_cast<const void*>(&OwnPath), &found);
    return found;
  }();
  return info.dli_fname;
}

// Programs open these by name, and some by a path of their own that comes before any search path.
// Everything in them is simulated here.
bool IsSimulated(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  return name.starts_with("libnvrtc.so") || name == "libcuda.so.1" || name == "libcuda.so" ||
         name == "libnvidia-ml.so.1" || name == "libnvidia-ml.so";
}

const char* Redirect(const char* name) {
  return name != nullptr && IsSimulated(name) ? OwnPath() : name;
}

Dlopen RealDlopen() {
  static const auto real = reinterpret_cast<Dlopen>(dlsym(RTLD_NEXT, "dlopen"));
  return real;
}

}  // namespace

// Under a name of its own, since glibc's declaration may not throw, and clang puts a handler around
// the calls of such a function.
SIMCUDA_EXPORT void* InterposedDlopen(const char* name, int flags) __asm__("dlopen");
void* InterposedDlopen(const char* name, int flags) {
  // A tail call, so that glibc sees the caller's return address: by it it finds the RPATH to
  // search.
  [[clang::musttail]] return RealDlopen()(Redirect(name), flags);
}

SIMCUDA_EXPORT cudaError_t
cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                 cudaDriverEntryPointQueryResult* result) {
  static void* const self = RealDlopen()(OwnPath(), RTLD_NOW | RTLD_NOLOAD);
  const std::string name = symbol;
  void* found = dlsym(self, (name + "_v2").c_str());
  if (found == nullptr) found = dlsym(self, name.c_str());
  *function = found;
  if (result != nullptr) {
    *result = found == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  }
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function,
                                                   unsigned long long flags,
                                                   cudaDriverEntryPointQueryResult* result) {
  return cudaGetDriverEntryPointByVersion(symbol, function, 0, flags, result);
}

SIMCUDA_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int,
                                            cuuint64_t flags,
                                            CUdriverProcAddressQueryResult* result) {
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion(symbol, function, 0, flags, &found);
  const bool known = found == cudaDriverEntryPointSuccess;
  if (result != nullptr) {
    *result = known ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return known ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
