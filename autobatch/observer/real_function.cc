#include "autobatch/observer/real_function.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstring>

namespace autobatch::observer {

Dlsym RealDlsym() {
  static const Dlsym real = [] {
    // The C library has kept each version's symbol since it moved there.
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"}) {
      void* found = dlvsym(RTLD_NEXT, "dlsym", version);
      if (found != nullptr) return reinterpret_cast<Dlsym>(found);
    }
    return Dlsym([](void*, const char*) -> void* { return nullptr; });
  }();
  return real;
}

void* Real::Find() const {
  if (void* next = RealDlsym()(RTLD_NEXT, name_); next != nullptr) return next;
  struct Search {
    const char* name;
    void* found = nullptr;
  } search = {name_};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* search = static_cast<Search*>(data);
        if (std::strstr(info->dlpi_name, "libcuda") == nullptr) return 0;
        void* library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
        if (library == nullptr) return 0;
        search->found = RealDlsym()(library, search->name);
        dlclose(library);
        return search->found != nullptr ? 1 : 0;
      },
      &search);
  return search.found;
}

}  // namespace autobatch::observer
