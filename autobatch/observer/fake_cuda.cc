// CUDA's driver and runtime as far as they allocate: addresses without memory behind them, 1000
// bytes in all. The runtime asks the driver by its look-up, as the real one does. Of its two
// devices number N has a UUID of bytes 7 + N; rows are as long as a multiple of 64.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>

namespace {
std::map<uint64_t, size_t> held;
uint64_t next_address = 4096;

int Allocate(uint64_t* address, size_t bytes) {
  size_t sum = bytes;
  for (const auto& [key, size] : held) sum += size;
  if (sum > 1000) return 2;
  *address = next_address;
  next_address += 4096;
  held[*address] = bytes;
  return 0;
}
int current = 0;

int Free(uint64_t address) { return held.erase(address) == 1 ? 0 : 1; }
}  // namespace

// Under names of its own, so that the look-ups below do not find the preload's.
#define FAKE extern "C" __attribute__((visibility("default")))
FAKE int cuMemAlloc_v2(uint64_t* address, size_t bytes) { return Allocate(address, bytes); }
FAKE int cuMemFree_v2(uint64_t address) { return Free(address); }
FAKE int cuMemAllocPitch_v2(uint64_t* address, size_t* pitch, size_t row_bytes, size_t rows,
                            unsigned) {
  *pitch = (row_bytes + 63) / 64 * 64;
  return Allocate(address, *pitch * rows);
}
FAKE int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        void*, void**, void**) {
  return 0;
}
FAKE int cuInit(unsigned) { return 0; }
FAKE int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < 2 ? 0 : 101;
}
FAKE int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  std::memset(uuid, 7 + device, 16);
  return 0;
}
FAKE int cuCtxGetDevice(int* device) {
  *device = current;
  return 0;
}
FAKE int cudaGetDevice(int* device) { return cuCtxGetDevice(device); }
FAKE int cudaSetDevice(int device) {
  current = device;
  return 0;
}
FAKE int cuMemCreate(uint64_t* handle, size_t bytes, const void*, unsigned long long) {
  return Allocate(handle, bytes);
}
FAKE int cuMemRelease(uint64_t handle) { return Free(handle); }
FAKE int cuGetProcAddress_v2(const char* name, void** function, int, uint64_t, int*) {
  *function = nullptr;
  if (std::strcmp(name, "cuMemAlloc") == 0) *function = reinterpret_cast<void*>(&Allocate);
  if (std::strcmp(name, "cuMemFree") == 0) *function = reinterpret_cast<void*>(&Free);
  return *function == nullptr ? 500 : 0;
}
FAKE int cudaMalloc(void** address, size_t bytes) {
  // By its exported name: the preload comes first here.
  return cuMemAlloc_v2(reinterpret_cast<uint64_t*>(address), bytes);
}
FAKE int cudaMallocPitch(void** address, size_t* pitch, size_t row_bytes, size_t rows) {
  return cuMemAllocPitch_v2(reinterpret_cast<uint64_t*>(address), pitch, row_bytes, rows, 4);
}
FAKE int cudaFree(void* address) { return cuMemFree_v2(reinterpret_cast<uint64_t>(address)); }
FAKE int cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long, int*) {
  *function = nullptr;
  if (std::strcmp(name, "cuMemCreate") == 0) *function = reinterpret_cast<void*>(&Allocate);
  return *function == nullptr ? 500 : 0;
}
