// Allocates 300 bytes, then 400 more, frees the first, and asks for 500, by the way that it is
// told:
//   observed_program LIBRARY dlsym|procaddress|runtime|entrypoint
// Says the three results.

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

template <typename Function>
Function Look(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

using Alloc = int (*)(uint64_t*, size_t);
using Free = int (*)(uint64_t);

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 9;
  // Out of everybody's sight, as Python loads its extensions.
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 8;
  }
  Alloc allocate = nullptr;
  Free free = nullptr;
  if (std::strcmp(argv[2], "dlsym") == 0) {
    allocate = Look<Alloc>(library, "cuMemAlloc_v2");
    free = Look<Free>(library, "cuMemFree_v2");
  } else if (std::strcmp(argv[2], "procaddress") == 0) {
    const auto look =
        Look<int (*)(const char*, void**, int, uint64_t, int*)>(library, "cuGetProcAddress_v2");
    look("cuMemAlloc", reinterpret_cast<void**>(&allocate), 12000, 0, nullptr);
    look("cuMemFree", reinterpret_cast<void**>(&free), 12000, 0, nullptr);
  } else if (std::strcmp(argv[2], "runtime") == 0) {
    allocate = Look<Alloc>(library, "cudaMalloc");
    free = Look<Free>(library, "cudaFree");
  } else {
    const auto look =
        Look<int (*)(const char*, void**, uint64_t, int*)>(library, "cudaGetDriverEntryPoint");
    look("cuMemCreate", reinterpret_cast<void**>(&allocate), 0, nullptr);
    free = Look<Free>(library, "cuMemRelease");
  }
  if (allocate == nullptr || free == nullptr) return 7;
  uint64_t first = 0;
  uint64_t second = 0;
  uint64_t third = 0;
  const int one = allocate(&first, 300);
  const int two = allocate(&second, 400);
  free(first);
  const int three = allocate(&third, 500);
  std::printf("%d %d %d\n", one, two, three);
  return 0;
}
