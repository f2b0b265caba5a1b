#include "autobatch/simcuda/device_attributes.h"

#include <cuda.h>

#include <cstdio>
#include <cstring>

#include "autobatch/simcuda/device_prop12.h"
#include "autobatch/simcuda/session.h"

namespace autobatch::simcuda {
namespace {

constexpr int kStaticSharedBytes = 49152;
constexpr int kRegisters = 65536;
constexpr int kBusWidth = 384;
constexpr int kClockKilohertz = 1700000;

int ReservedShared(const Card& card) { return card.major >= 8 ? 1024 : 0; }

// The layouts share the fields' names.
template <typename Properties>
void Fill(const Device& device, Properties* p) {
  const Card& card = device.card();
  std::memset(p, 0, sizeof(*p));
  std::snprintf(p->name, sizeof(p->name), "%s", card.name.c_str());
  std::memcpy(&p->uuid, device.uuid().bytes.data(), sizeof(p->uuid));
  p->totalGlobalMem = card.total;
  p->sharedMemPerBlock = kStaticSharedBytes;
  p->regsPerBlock = kRegisters;
  p->warpSize = 32;
  p->memPitch = 0x7fffffff;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->totalConstMem = 65536;
  p->major = card.major;
  p->minor = card.minor;
  p->textureAlignment = 512;
  p->texturePitchAlignment = 32;
  p->multiProcessorCount = card.multiprocessors;
  p->canMapHostMemory = 1;
  p->concurrentKernels = 1;
  p->pciBusID = device.bus() + 1;
  p->asyncEngineCount = 3;
  p->unifiedAddressing = 1;
  p->memoryBusWidth = kBusWidth;
  p->l2CacheSize = static_cast<int>(card.l2);
  p->persistingL2CacheMaxSize = static_cast<int>(card.l2 / 2);
  p->maxThreadsPerMultiProcessor = card.threads_per_multiprocessor;
  p->streamPrioritiesSupported = 1;
  p->globalL1CacheSupported = p->localL1CacheSupported = 1;
  p->sharedMemPerMultiprocessor = card.shared_per_multiprocessor;
  p->regsPerMultiprocessor = kRegisters;
  p->managedMemory = 1;
  p->concurrentManagedAccess = 1;
  p->computePreemptionSupported = 1;
  p->canUseHostPointerForRegisteredMem = 1;
  p->cooperativeLaunch = 1;
  p->sharedMemPerBlockOptin = card.shared_per_block;
  p->maxBlocksPerMultiProcessor = BlocksPerMultiprocessor(card);
  p->reservedSharedMemPerBlock = static_cast<size_t>(ReservedShared(card));
  p->hostRegisterSupported = 1;
  p->clusterLaunch = card.major >= 9;
  p->ipcEventSupported = 1;
  p->unifiedFunctionPointers = 1;
}

}  // namespace

cudaError_t FillDeviceProperties(int ordinal, void* properties, bool cuda12) {
  const Device* const device = Node::Get().Visible(ordinal);
  if (device == nullptr) return cudaErrorInvalidDevice;
  if (cuda12) {
    Fill(*device, static_cast<DeviceProp12*>(properties));
  } else {
    Fill(*device, static_cast<cudaDeviceProp*>(properties));
  }
  return cudaSuccess;
}

int DeviceAttribute(const Device& device, int attribute) {
  const Card& card = device.card();
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      return 1024;
    case cudaDevAttrMaxBlockDimZ:
      return 64;
    case cudaDevAttrMaxGridDimX:
    case cudaDevAttrMaxPitch:
      return 0x7fffffff;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      return 65535;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return kStaticSharedBytes;
    case cudaDevAttrTotalConstantMemory:
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return kRegisters;
    case cudaDevAttrWarpSize:
      return 32;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
      return kClockKilohertz;
    case cudaDevAttrTextureAlignment:
      return 512;
    case cudaDevAttrMultiProcessorCount:
      return card.multiprocessors;
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrComputePreemptionSupported:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrIpcEventSupport:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
      return 1;
    case cudaDevAttrPciBusId:
      return device.bus() + 1;
    case cudaDevAttrGlobalMemoryBusWidth:
      return kBusWidth;
    case cudaDevAttrL2CacheSize:
      return static_cast<int>(card.l2);
    case cudaDevAttrMaxPersistingL2CacheSize:
      return static_cast<int>(card.l2 / 2);
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return card.threads_per_multiprocessor;
    case cudaDevAttrAsyncEngineCount:
      return 3;
    case cudaDevAttrComputeCapabilityMajor:
      return card.major;
    case cudaDevAttrComputeCapabilityMinor:
      return card.minor;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(card.shared_per_multiprocessor);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(card.shared_per_block);
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return BlocksPerMultiprocessor(card);
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return ReservedShared(card);
    case cudaDevAttrClusterLaunch:
      return card.major >= 9;
    default:
      return 0;
  }
}

}  // namespace autobatch::simcuda
