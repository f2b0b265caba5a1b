// CUDA's allocating calls, in front of the real ones. A program finds those in four ways, all of
// which lead here: it is linked with them (the preload comes first), asks dlsym, asks the driver's
// cuGetProcAddress, or asks the runtime's cudaGetDriverEntryPoint.
//
// The runtime's calls use the driver's: what is counted in the one is not counted again in the
// other. Types are binary interface, spelt without NVIDIA's headers: enumerations are int, handles
// and device addresses 64 bits.

#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "autobatch/observer/device_index.h"
#include "autobatch/observer/ledger.h"
#include "autobatch/observer/real_function.h"
#include "autobatch/types/observed_memory.h"

#define OBSERVER_EXPORT extern "C" __attribute__((visibility("default")))

namespace autobatch::observer {
namespace {

constexpr int kSuccess = 0;
// CUDA_ERROR_OUT_OF_MEMORY and cudaErrorMemoryAllocation alike.
constexpr int kOutOfMemory = 2;
constexpr int kNotFound = 500;

// Runs at the process's end, in the process that it began in: a fork holds no device memory.
const pid_t first_pid = getpid();
__attribute__((destructor)) void GiveBack() {
  if (getpid() == first_pid) TheLedger().~Ledger();
}

// Inside a call that is already counted.
thread_local int depth = 0;
struct Nested {
  Nested() { ++depth; }
  ~Nested() { --depth; }
};

// `allocate()` calls the real function and then says in `key` where the memory is. `where` says on
// which of the trial's devices that will be.
template <typename Where, typename Allocate>
int Counted(Where where, size_t bytes, const uint64_t& key, Allocate allocate, uint64_t tag = 0) {
  Ledger& ledger = TheLedger();
  if (depth > 0 || ledger.trial() == nullptr) return allocate();
  const Nested nested;
  const int device = where(*ledger.trial());
  if (device == kNoDevice) return allocate();
  const auto size = static_cast<int64_t>(bytes);
  if (!ledger.Reserve(device, size)) return kOutOfMemory;
  const int result = allocate();
  if (result == kSuccess) {
    ledger.Keep(device, key ^ tag, size);
  } else {
    ledger.Refuse(device, size);
  }
  return result;
}

// The same of rows that CUDA makes longer by itself: what they take is known only then. `free`
// gives back what turns out to be too much.
template <typename Where, typename Allocate, typename Free>
int CountedRows(Where where, size_t row_bytes, size_t rows, const size_t& pitch,
                const uint64_t& key, Allocate allocate, Free free) {
  const int result = Counted(where, row_bytes * rows, key, allocate);
  Ledger& ledger = TheLedger();
  if (result != kSuccess || depth > 0 || ledger.trial() == nullptr) return result;
  const Nested nested;
  const int device = where(*ledger.trial());
  if (device == kNoDevice) return result;
  const auto padding = static_cast<int64_t>((pitch - row_bytes) * rows);
  if (ledger.Reserve(device, padding)) {
    ledger.Keep(device, key, padding);
    return result;
  }
  const uint64_t address = key;
  free();
  ledger.Free(address);
  return kOutOfMemory;
}

template <typename Free>
int Freed(uint64_t key, Free free) {
  if (depth > 0) return free();
  const Nested nested;
  const int result = free();
  if (result == kSuccess) TheLedger().Free(key);
  return result;
}

uint64_t KeyOf(const void* address) { return reinterpret_cast<uintptr_t>(address); }

}  // namespace
}  // namespace autobatch::observer

using autobatch::ObservedDevices;
using autobatch::observer::Counted;
using autobatch::observer::CountedRows;
using autobatch::observer::Freed;
using autobatch::observer::IndexOfContext;
using autobatch::observer::IndexOfOrdinal;
using autobatch::observer::IndexOfRuntime;
using autobatch::observer::KeyOf;
using autobatch::observer::kNotFound;
using autobatch::observer::kSuccess;
using autobatch::observer::Real;
using autobatch::observer::RealDlsym;
using autobatch::observer::TheLedger;

// Calls the real function of this name with its own parameters.
#define REAL(name, ...)                                     \
  [&] {                                                     \
    const auto real = real_##name.Get<decltype(&(name))>(); \
    return real == nullptr ? kNotFound : real(__VA_ARGS__); \
  }

#define DECLARE_REAL(name) constinit Real real_##name(#name)

namespace {
DECLARE_REAL(cuMemAlloc_v2);
DECLARE_REAL(cuMemAllocManaged);
DECLARE_REAL(cuMemAllocPitch_v2);
DECLARE_REAL(cuMemAllocAsync);
DECLARE_REAL(cuMemAllocFromPoolAsync);
DECLARE_REAL(cuMemFree_v2);
DECLARE_REAL(cuMemFreeAsync);
DECLARE_REAL(cuMemCreate);
DECLARE_REAL(cuMemRelease);
DECLARE_REAL(cuGetProcAddress_v2);
DECLARE_REAL(cudaMalloc);
DECLARE_REAL(cudaMallocManaged);
DECLARE_REAL(cudaMallocPitch);
DECLARE_REAL(cudaMallocAsync);
DECLARE_REAL(cudaMallocFromPoolAsync);
DECLARE_REAL(cudaFree);
DECLARE_REAL(cudaFreeAsync);
DECLARE_REAL(cudaGetDriverEntryPoint);
DECLARE_REAL(cudaGetDriverEntryPointByVersion);
DECLARE_REAL(cudaLaunchKernel);
DECLARE_REAL(__cudaLaunchKernel);
DECLARE_REAL(cudaLaunchKernelExC);
DECLARE_REAL(cudaGraphLaunch);
DECLARE_REAL(cuLaunchKernel);
DECLARE_REAL(cuLaunchKernelEx);
}  // namespace

// The driver.

OBSERVER_EXPORT int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  return Counted(IndexOfContext, bytes, *address, REAL(cuMemAlloc_v2, address, bytes));
}
OBSERVER_EXPORT int cuMemAllocManaged(uint64_t* address, size_t bytes, unsigned flags) {
  return Counted(IndexOfContext, bytes, *address, REAL(cuMemAllocManaged, address, bytes, flags));
}
OBSERVER_EXPORT int cuMemFree_v2(uint64_t address);
OBSERVER_EXPORT int cuMemAllocPitch_v2(uint64_t* address, size_t* pitch, size_t row_bytes,
                                       size_t rows, unsigned element_bytes) {
  return CountedRows(IndexOfContext, row_bytes, rows, *pitch, *address,
                     REAL(cuMemAllocPitch_v2, address, pitch, row_bytes, rows, element_bytes),
                     REAL(cuMemFree_v2, *address));
}
OBSERVER_EXPORT int cuMemAllocAsync(uint64_t* address, size_t bytes, void* stream) {
  return Counted(IndexOfContext, bytes, *address, REAL(cuMemAllocAsync, address, bytes, stream));
}
OBSERVER_EXPORT int cuMemAllocFromPoolAsync(uint64_t* address, size_t bytes, void* pool,
                                            void* stream) {
  return Counted(IndexOfContext, bytes, *address,
                 REAL(cuMemAllocFromPoolAsync, address, bytes, pool, stream));
}
OBSERVER_EXPORT int cuMemFree_v2(uint64_t address) {
  return Freed(address, REAL(cuMemFree_v2, address));
}
OBSERVER_EXPORT int cuMemFreeAsync(uint64_t address, void* stream) {
  return Freed(address, REAL(cuMemFreeAsync, address, stream));
}
// A handle may have the number of an address.
constexpr uint64_t kHandle = uint64_t{1} << 63;
OBSERVER_EXPORT int cuMemCreate(uint64_t* handle, size_t bytes, const void* properties,
                                unsigned long long flags) {
  const auto where = [properties](const ObservedDevices& trial) {
    // CUmemAllocationProp: what it is, how it is shared, and the kind and number of its place.
    int fields[4] = {};
    if (properties != nullptr) std::memcpy(fields, properties, sizeof(fields));
    return IndexOfOrdinal(trial, fields[3]);
  };
  return Counted(where, bytes, *handle, REAL(cuMemCreate, handle, bytes, properties, flags),
                 kHandle);
}
OBSERVER_EXPORT int cuMemRelease(uint64_t handle) {
  return Freed(handle ^ kHandle, REAL(cuMemRelease, handle));
}

// The runtime.

OBSERVER_EXPORT int cudaMalloc(void** address, size_t bytes) {
  return Counted(IndexOfRuntime, bytes, *reinterpret_cast<uint64_t*>(address),
                 REAL(cudaMalloc, address, bytes));
}
OBSERVER_EXPORT int cudaMallocManaged(void** address, size_t bytes, unsigned flags) {
  return Counted(IndexOfRuntime, bytes, *reinterpret_cast<uint64_t*>(address),
                 REAL(cudaMallocManaged, address, bytes, flags));
}
OBSERVER_EXPORT int cudaFree(void* address);
OBSERVER_EXPORT int cudaMallocPitch(void** address, size_t* pitch, size_t row_bytes, size_t rows) {
  return CountedRows(IndexOfRuntime, row_bytes, rows, *pitch, *reinterpret_cast<uint64_t*>(address),
                     REAL(cudaMallocPitch, address, pitch, row_bytes, rows),
                     REAL(cudaFree, *address));
}
OBSERVER_EXPORT int cudaMallocAsync(void** address, size_t bytes, void* stream) {
  return Counted(IndexOfRuntime, bytes, *reinterpret_cast<uint64_t*>(address),
                 REAL(cudaMallocAsync, address, bytes, stream));
}
OBSERVER_EXPORT int cudaMallocFromPoolAsync(void** address, size_t bytes, void* pool,
                                            void* stream) {
  return Counted(IndexOfRuntime, bytes, *reinterpret_cast<uint64_t*>(address),
                 REAL(cudaMallocFromPoolAsync, address, bytes, pool, stream));
}
OBSERVER_EXPORT int cudaFree(void* address) {
  return Freed(KeyOf(address), REAL(cudaFree, address));
}
OBSERVER_EXPORT int cudaFreeAsync(void* address, void* stream) {
  return Freed(KeyOf(address), REAL(cudaFreeAsync, address, stream));
}

// What starts work: counted only, whether it succeeds or not.

namespace {
// dim3, which is passed by value.
struct Extent {
  unsigned x, y, z;
};
}  // namespace

#define LAUNCH(name, ...) (TheLedger().CountLaunch(), REAL(name, __VA_ARGS__)())

OBSERVER_EXPORT int cudaLaunchKernel(const void* function, Extent grid, Extent block,
                                     void** arguments, size_t shared_bytes, void* stream) {
  return LAUNCH(cudaLaunchKernel, function, grid, block, arguments, shared_bytes, stream);
}
// What nvcc's code calls since CUDA 13.
// NOLINTBEGIN(bugprone-reserved-identifier)
OBSERVER_EXPORT int __cudaLaunchKernel(void* kernel, Extent grid, Extent block, void** arguments,
                                       size_t shared_bytes, void* stream) {
  return LAUNCH(__cudaLaunchKernel, kernel, grid, block, arguments, shared_bytes, stream);
}
// NOLINTEND(bugprone-reserved-identifier)
OBSERVER_EXPORT int cudaLaunchKernelExC(const void* configuration, const void* function,
                                        void** arguments) {
  return LAUNCH(cudaLaunchKernelExC, configuration, function, arguments);
}
OBSERVER_EXPORT int cudaGraphLaunch(void* graph, void* stream) {
  return LAUNCH(cudaGraphLaunch, graph, stream);
}
OBSERVER_EXPORT int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared_bytes, void* stream,
                                   void** arguments, void** extra) {
  return LAUNCH(cuLaunchKernel, function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                shared_bytes, stream, arguments, extra);
}
OBSERVER_EXPORT int cuLaunchKernelEx(const void* configuration, void* function, void** arguments,
                                     void** extra) {
  return LAUNCH(cuLaunchKernelEx, configuration, function, arguments, extra);
}

// Those who tell where a function is.

OBSERVER_EXPORT int cuGetProcAddress_v2(const char* name, void** function, int version,
                                        uint64_t flags, int* status);
OBSERVER_EXPORT int cudaGetDriverEntryPoint(const char* name, void** function, uint64_t flags,
                                            int* status);
OBSERVER_EXPORT int cudaGetDriverEntryPointByVersion(const char* name, void** function,
                                                     unsigned version, uint64_t flags, int* status);

namespace {

// One that is looked up by its name: in place of the real one, which is kept, ours.
struct Wrapper {
  const char* name;
  // As the driver's own look-ups call it.
  const char* plain_name;
  void* function;
  Real* real;
};

#define WRAPPER(name, plain) {#name, plain, reinterpret_cast<void*>(&(name)), &real_##name}
const Wrapper kWrappers[] = {
    WRAPPER(cuMemAlloc_v2, "cuMemAlloc"),
    WRAPPER(cuMemAllocManaged, "cuMemAllocManaged"),
    WRAPPER(cuMemAllocPitch_v2, "cuMemAllocPitch"),
    WRAPPER(cuMemAllocAsync, "cuMemAllocAsync"),
    WRAPPER(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync"),
    WRAPPER(cuMemFree_v2, "cuMemFree"),
    WRAPPER(cuMemFreeAsync, "cuMemFreeAsync"),
    WRAPPER(cuMemCreate, "cuMemCreate"),
    WRAPPER(cuMemRelease, "cuMemRelease"),
    // Its first version has one parameter less, which the second leaves alone.
    WRAPPER(cuGetProcAddress_v2, "cuGetProcAddress"),
    WRAPPER(cudaMalloc, nullptr),
    WRAPPER(cudaMallocManaged, nullptr),
    WRAPPER(cudaMallocPitch, nullptr),
    WRAPPER(cudaMallocAsync, nullptr),
    WRAPPER(cudaMallocFromPoolAsync, nullptr),
    WRAPPER(cudaFree, nullptr),
    WRAPPER(cudaFreeAsync, nullptr),
    WRAPPER(cudaGetDriverEntryPoint, nullptr),
    WRAPPER(cudaGetDriverEntryPointByVersion, nullptr),
    WRAPPER(cudaLaunchKernel, nullptr),
    WRAPPER(__cudaLaunchKernel, nullptr),
    WRAPPER(cudaLaunchKernelExC, nullptr),
    WRAPPER(cudaGraphLaunch, nullptr),
    WRAPPER(cuLaunchKernel, "cuLaunchKernel"),
    WRAPPER(cuLaunchKernelEx, "cuLaunchKernelEx"),
};

// Ours in place of `found`, which is what `name` really is; `found` where there is none.
void* InPlaceOf(void* found, const char* name) {
  if (found == nullptr || name == nullptr) return found;
  for (const Wrapper& wrapper : kWrappers) {
    const bool plain = wrapper.plain_name != nullptr && std::strcmp(name, wrapper.plain_name) == 0;
    if (!plain && std::strcmp(name, wrapper.name) != 0) continue;
    if (found != wrapper.function) wrapper.real->Set(found);
    return wrapper.function;
  }
  return found;
}

bool MayBeCudas(void* library, const char* name) {
  return name[0] == 'c' && name[1] == 'u' && library != RTLD_NEXT && library != RTLD_DEFAULT;
}

// Calls a look-up, and puts ours into its answer.
template <typename LookUp>
int Looked(const char* name, void** function, LookUp look_up) {
  const int result = look_up();
  if (result == kSuccess && function != nullptr) *function = InPlaceOf(*function, name);
  return result;
}

}  // namespace

OBSERVER_EXPORT int cuGetProcAddress_v2(const char* name, void** function, int version,
                                        uint64_t flags, int* status) {
  return Looked(name, function, REAL(cuGetProcAddress_v2, name, function, version, flags, status));
}
OBSERVER_EXPORT int cudaGetDriverEntryPoint(const char* name, void** function, uint64_t flags,
                                            int* status) {
  return Looked(name, function, REAL(cudaGetDriverEntryPoint, name, function, flags, status));
}
OBSERVER_EXPORT int cudaGetDriverEntryPointByVersion(const char* name, void** function,
                                                     unsigned version, uint64_t flags,
                                                     int* status) {
  return Looked(name, function,
                REAL(cudaGetDriverEntryPointByVersion, name, function, version, flags, status));
}

// For every other name the real one is jumped to, so that it sees its true caller: RTLD_NEXT counts
// from there.
// Under a name of its own here: what the header declares is noexcept, which allows no jump.
OBSERVER_EXPORT void* ObserverDlsym(void* library, const char* name) __asm__("dlsym");
OBSERVER_EXPORT void* ObserverDlsym(void* library, const char* name) {
  if (!MayBeCudas(library, name)) {
    [[clang::musttail]] return RealDlsym()(library, name);
  }
  return InPlaceOf(RealDlsym()(library, name), name);
}
