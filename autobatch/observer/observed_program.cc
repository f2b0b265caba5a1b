// Allocates 300 bytes, then 400 more, frees the first, and asks for 500, by the way that it is
// told:
//   observed_program LIBRARY WAY
// Says the three results, after one kernel that does nothing. WAY is how it finds the functions,
// dlsym, procaddress, runtime or entrypoint; or pitch and runtimepitch, for 1, 2 and 3 rows of 100
// bytes instead; or, to allocate on the second device but for the first time, switched (it becomes
// the current one) or created (it is named).

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>

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
  const std::string way = argv[2];
  std::function<int(uint64_t*, size_t)> allocate;
  Free free = nullptr;
  size_t sizes[] = {300, 400, 500};
  if (way == "procaddress") {
    Alloc found = nullptr;
    const auto look =
        Look<int (*)(const char*, void**, int, uint64_t, int*)>(library, "cuGetProcAddress_v2");
    look("cuMemAlloc", reinterpret_cast<void**>(&found), 12000, 0, nullptr);
    look("cuMemFree", reinterpret_cast<void**>(&free), 12000, 0, nullptr);
    allocate = found;
  } else if (way == "runtime") {
    allocate = Look<Alloc>(library, "cudaMalloc");
    free = Look<Free>(library, "cudaFree");
  } else if (way == "entrypoint") {
    Alloc found = nullptr;
    const auto look =
        Look<int (*)(const char*, void**, uint64_t, int*)>(library, "cudaGetDriverEntryPoint");
    look("cuMemCreate", reinterpret_cast<void**>(&found), 0, nullptr);
    free = Look<Free>(library, "cuMemRelease");
    allocate = found;
  } else if (way == "pitch") {
    const auto found =
        Look<int (*)(uint64_t*, size_t*, size_t, size_t, unsigned)>(library, "cuMemAllocPitch_v2");
    free = Look<Free>(library, "cuMemFree_v2");
    allocate = [found](uint64_t* address, size_t rows) {
      size_t pitch = 0;
      return found(address, &pitch, 100, rows, 4);
    };
  } else if (way == "runtimepitch") {
    const auto found =
        Look<int (*)(uint64_t*, size_t*, size_t, size_t)>(library, "cudaMallocPitch");
    free = Look<Free>(library, "cudaFree");
    allocate = [found](uint64_t* address, size_t rows) {
      size_t pitch = 0;
      return found(address, &pitch, 100, rows);
    };
  } else if (way == "created") {
    const auto found =
        Look<int (*)(uint64_t*, size_t, const int*, uint64_t)>(library, "cuMemCreate");
    free = Look<Free>(library, "cuMemRelease");
    allocate = [found](uint64_t* handle, size_t bytes) {
      const int properties[] = {1, 0, 1, bytes == 300 ? 0 : 1};
      return found(handle, bytes, properties, 0);
    };
  } else {
    const auto found = Look<Alloc>(library, "cuMemAlloc_v2");
    const auto use = Look<int (*)(int)>(library, "cudaSetDevice");
    free = Look<Free>(library, "cuMemFree_v2");
    allocate = [way, found, use](uint64_t* address, size_t bytes) {
      if (way == "switched") use(bytes == 300 ? 0 : 1);
      return found(address, bytes);
    };
  }
  if (way == "pitch" || way == "runtimepitch") {
    for (size_t i = 0; i < 3; ++i) sizes[i] = i + 1;
  }
  if (!allocate || free == nullptr) return 7;
  uint64_t addresses[3] = {};
  const int one = allocate(&addresses[0], sizes[0]);
  const int two = allocate(&addresses[1], sizes[1]);
  free(addresses[0]);
  const int three = allocate(&addresses[2], sizes[2]);
  // A kernel, as a framework starts it that looked the function up.
  const auto launch =
      Look<int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void*, void**, void**)>(library, "cuLaunchKernel");
  if (launch(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) != 0) return 6;
  std::printf("%d %d %d\n", one, two, three);
  return 0;
}
