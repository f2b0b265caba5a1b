#include "autobatch/device/dynamic_library.h"

#include <dlfcn.h>

#include "absl/status/status.h"

namespace autobatch {

absl::StatusOr<DynamicLibrary> DynamicLibrary::Open(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return absl::NotFoundError(why == nullptr ? name : why);
  }
  return DynamicLibrary(handle);
}

DynamicLibrary DynamicLibrary::OfProcess() {
  return DynamicLibrary(dlopen(nullptr, RTLD_NOW | RTLD_LOCAL));
}

void* DynamicLibrary::Address(const char* symbol) const { return dlsym(handle_.get(), symbol); }

void DynamicLibrary::Close::operator()(void* handle) const {
  if (!stay) dlclose(handle);
}

}  // namespace autobatch
