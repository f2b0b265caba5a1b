// CUDA runtime: memory of devices and of the host, copies.

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "autobatch/simcuda/copy.h"
#include "autobatch/simcuda/fault_injection.h"
#include "autobatch/simcuda/kernels.h"
#include "autobatch/simcuda/phases.h"
#include "autobatch/simcuda/session.h"
#include "autobatch/simcuda/stream.h"

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

// Page-locked memory of the host: address to size.
std::map<const char*, size_t>& HostBlocks() {
  static auto* const blocks = new std::map<const char*, size_t>;
  return *blocks;
}

bool InHostBlock(const void* address) {
  const auto* const at = static_cast<const char*>(address);
  const std::lock_guard lock(TableMutex());
  auto block = HostBlocks().upper_bound(at);
  if (block == HostBlocks().begin()) return false;
  --block;
  return at < block->first + block->second;
}

cudaError_t CopyWithContext(void* to, const void* from, size_t bytes) {
  cudaError_t error;
  if (Enter(error) == nullptr) return error;
  return Report(Copy(to, from, bytes));
}

// In the stream's order. What goes to the host is there when the call returns, as where that memory
// is pageable; what comes from it has left it.
cudaError_t CopyOnStream(void* to, const void* from, size_t bytes, cudaStream_t stream) {
  if (TailOf(stream) == nullptr) return CopyWithContext(to, from, bytes);
  const Node& node = Node::Get();
  if (node.OwnerOf(to) == nullptr) {
    WaitFor(stream);
    return CopyWithContext(to, from, bytes);
  }
  if (node.OwnerOf(from) != nullptr) {
    RunAfter(stream, [=] { Copy(to, from, bytes); });
  } else if (bytes <= KeptBytes::kMost) {
    const auto* const begin = static_cast<const char*>(from);
    const auto passing = std::make_shared<std::vector<char>>(begin, begin + bytes);
    RunAfter(stream, [=] { Copy(to, passing->data(), bytes); });
  }
  return Report(Broken());
}

// The stream-ordered allocator keeps memory in pools of the driver's, which are not simulated.
cudaError_t RefusePool() {
  static const bool said = [] {
    std::fprintf(
        stderr,
        "simcuda: cudaMallocAsync is not simulated, since its peaks would be wrong; use the "
        "framework's own allocator (no backend:cudaMallocAsync)\n");
    return true;
  }();
  static_cast<void>(said);
  return Report(cudaErrorNotSupported);
}

}  // namespace

SIMCUDA_EXPORT cudaError_t cudaMalloc(void** address, size_t bytes) {
  cudaError_t error;
  Device* const device = Enter(error);
  if (device == nullptr) return error;
  if (address == nullptr) return Report(cudaErrorInvalidValue);
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (!FaultsAtAllocation(*device)) *address = device->Allocate(bytes);
  NoteMemory(*device);
  return Report(*address == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaFree(void* address) {
  cudaError_t error;
  if (Enter(error) == nullptr) return error;
  if (address == nullptr) return Report(cudaSuccess);
  Device* const owner = Node::Get().OwnerOf(address);
  return Report(owner != nullptr && owner->Free(address) ? cudaSuccess : cudaErrorInvalidValue);
}

SIMCUDA_EXPORT cudaError_t cudaMallocManaged(void** address, size_t bytes, unsigned) {
  return cudaMalloc(address, bytes);
}

SIMCUDA_EXPORT cudaError_t cudaMallocAsync(void**, size_t, cudaStream_t) { return RefusePool(); }
SIMCUDA_EXPORT cudaError_t cudaFreeAsync(void*, cudaStream_t) { return RefusePool(); }

SIMCUDA_EXPORT cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t*, int) { return RefusePool(); }

SIMCUDA_EXPORT cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  cudaError_t error;
  Device* const device = Enter(error);
  if (device == nullptr) return error;
  *free = device->FreeBytes();
  *total = device->card().total;
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned) {
  cudaError_t error;
  if (Enter(error) == nullptr) return error;
  bytes = std::max<size_t>(bytes, 1);
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, /*fd=*/-1, 0);
  if (block == MAP_FAILED) return Report(cudaErrorMemoryAllocation);
  const std::lock_guard lock(TableMutex());
  HostBlocks()[static_cast<const char*>(block)] = bytes;
  *address = block;
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaMallocHost(void** address, size_t bytes) {
  return cudaHostAlloc(address, bytes, cudaHostAllocDefault);
}

SIMCUDA_EXPORT cudaError_t cudaFreeHost(void* address) {
  if (address == nullptr) return Report(cudaSuccess);
  const std::lock_guard lock(TableMutex());
  const auto block = HostBlocks().find(static_cast<const char*>(address));
  if (block == HostBlocks().end()) return Report(cudaErrorInvalidValue);
  munmap(address, block->second);
  HostBlocks().erase(block);
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaHostRegister(void* address, size_t bytes, unsigned) {
  const std::lock_guard lock(TableMutex());
  HostBlocks()[static_cast<const char*>(address)] = bytes;
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaHostUnregister(void* address) {
  const std::lock_guard lock(TableMutex());
  const bool known = HostBlocks().erase(static_cast<const char*>(address)) == 1;
  return Report(known ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

SIMCUDA_EXPORT cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                                    const void* address) {
  // CUDA 13 added reserved bytes behind the 24 that a program for CUDA 12 has room for.
  constexpr size_t kCommonBytes = 24;
  std::memset(attributes, 0, kCommonBytes);
  void* const pointer = const_cast<void*>(address);
  const Node& node = Node::Get();
  if (Device* const owner = node.OwnerOf(address)) {
    attributes->type = cudaMemoryTypeDevice;
    attributes->device = node.OrdinalOf(owner);
    attributes->devicePointer = pointer;
  } else if (InHostBlock(address)) {
    attributes->type = cudaMemoryTypeHost;
    attributes->device = CurrentOrdinal();
    attributes->devicePointer = attributes->hostPointer = pointer;
  } else {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    attributes->hostPointer = pointer;
  }
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                                           cudaStream_t stream) {
  return CopyOnStream(to, from, bytes, stream);
}

SIMCUDA_EXPORT cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes,
                                      cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, cudaStreamLegacy);
}

SIMCUDA_EXPORT cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes,
                                               cudaStream_t stream) {
  return CopyOnStream(to, from, bytes, stream);
}

SIMCUDA_EXPORT cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from,
                                          int from_device, size_t bytes) {
  return cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, cudaStreamLegacy);
}

SIMCUDA_EXPORT cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from,
                                        size_t from_pitch, size_t width, size_t height,
                                        cudaMemcpyKind) {
  for (size_t row = 0; row < height; ++row) {
    const cudaError_t error =
        CopyWithContext(static_cast<char*>(to) + row * to_pitch,
                        static_cast<const char*>(from) + row * from_pitch, width);
    if (error != cudaSuccess) return error;
  }
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from,
                                             size_t from_pitch, size_t width, size_t height,
                                             cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

SIMCUDA_EXPORT cudaError_t cudaMemsetAsync(void* address, int value, size_t bytes,
                                           cudaStream_t stream) {
  cudaError_t error;
  if (Enter(error) == nullptr) return error;
  if (TailOf(stream) == nullptr) return Report(Fill(address, value, bytes));
  RunAfter(stream, [=] { Fill(address, value, bytes); });
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaMemset(void* address, int value, size_t bytes) {
  return cudaMemsetAsync(address, value, bytes, cudaStreamLegacy);
}

SIMCUDA_EXPORT cudaError_t cudaMemcpyToSymbol(const void*, const void*, size_t, size_t,
                                              cudaMemcpyKind) {
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  // By device and symbol.
  static auto* const addresses = new std::map<std::pair<const Device*, const void*>, void*>;
  cudaError_t error;
  Device* const device = Enter(error);
  if (device == nullptr) return error;
  const std::lock_guard lock(TableMutex());
  void*& known = (*addresses)[{device, symbol}];
  if (known == nullptr) known = device->ReserveAddresses(1);
  *address = known;
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* address) {
  std::memset(handle, 0, sizeof(*handle));
  std::memcpy(handle, &address, sizeof(address));
  return Report(cudaSuccess);
}

// Only within one process: another one's memory has no address here.
SIMCUDA_EXPORT cudaError_t cudaIpcOpenMemHandle(void** address, cudaIpcMemHandle_t handle,
                                                unsigned) {
  std::memcpy(address, &handle, sizeof(*address));
  return Report(Node::Get().OwnerOf(*address) == nullptr ? cudaErrorNotSupported : cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaIpcCloseMemHandle(void*) { return Report(cudaSuccess); }
