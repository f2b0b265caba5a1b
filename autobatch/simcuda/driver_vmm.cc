// CUDA driver: virtual memory management, on which the framework's expandable segments stand.

#include <cuda.h>

#include <algorithm>
#include <map>

#include "autobatch/simcuda/address_space.h"
#include "autobatch/simcuda/driver.h"
#include "autobatch/simcuda/fault_injection.h"
#include "autobatch/simcuda/phases.h"
#include "autobatch/simcuda/session.h"

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

// Memory without an address: held by its creator and by every mapping of it.
struct Physical {
  Device* device;
  size_t bytes;
  int holders;
  CUmemAllocationProp properties;
};

struct Mapping {
  size_t bytes;
  Physical* physical;
};

// By address. Under TableMutex().
std::map<CUdeviceptr, Mapping>& Mappings() {
  static auto* const mappings = new std::map<CUdeviceptr, Mapping>;
  return *mappings;
}

Physical* PhysicalOf(CUmemGenericAllocationHandle handle) {
  return reinterpret_cast<Physical*>(handle);
}

void LetGo(Physical* physical) {
  if (--physical->holders > 0) return;
  physical->device->GiveMemory(physical->bytes);
  delete physical;
}

}  // namespace

SIMCUDA_EXPORT CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*,
                                                      CUmemAllocationGranularity_flags) {
  *bytes = kPage;
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr,
                                            unsigned long long) {
  cudaError_t error;
  Device* const device = Enter(error);
  if (device == nullptr) return ToDriver(error);
  void* const reserved = device->ReserveAddresses(bytes);
  *address = reinterpret_cast<CUdeviceptr>(reserved);
  return reserved == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuMemAddressFree(CUdeviceptr address, size_t) {
  void* const reserved = reinterpret_cast<void*>(address);
  Device* const owner = Node::Get().OwnerOf(reserved);
  const bool known = owner != nullptr && owner->ReleaseAddresses(reserved);
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIMCUDA_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                                    const CUmemAllocationProp* properties, unsigned long long) {
  cudaError_t error;
  Device* device = Enter(error);
  if (device == nullptr) return ToDriver(error);
  if (properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    device = Node::Get().Visible(properties->location.id);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  }
  if (FaultsAtAllocation(*device) || !device->TakeMemory(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  NoteMemory(*device);
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(
      new Physical{.device = device, .bytes = bytes, .holders = 1, .properties = *properties});
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(TableMutex());
  LetGo(PhysicalOf(handle));
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t,
                                 CUmemGenericAllocationHandle handle, unsigned long long) {
  const std::lock_guard lock(TableMutex());
  ++PhysicalOf(handle)->holders;
  Mappings()[address] = {.bytes = bytes, .physical = PhysicalOf(handle)};
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  const std::lock_guard lock(TableMutex());
  auto mapping = Mappings().lower_bound(address);
  while (mapping != Mappings().end() && mapping->first < address + bytes) {
    LetGo(mapping->second.physical);
    mapping = Mappings().erase(mapping);
  }
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) {
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle,
                                                    void* address) {
  const std::lock_guard lock(TableMutex());
  auto mapping = Mappings().upper_bound(reinterpret_cast<CUdeviceptr>(address));
  if (mapping == Mappings().begin()) return CUDA_ERROR_INVALID_VALUE;
  --mapping;
  ++mapping->second.physical->holders;
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(mapping->second.physical);
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuMemGetAllocationPropertiesFromHandle(
    CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  *properties = PhysicalOf(handle)->properties;
  return CUDA_SUCCESS;
}

// Memory that several processes or devices share is not simulated.

SIMCUDA_EXPORT CUresult cuMemExportToShareableHandle(void*, CUmemGenericAllocationHandle,
                                                     CUmemAllocationHandleType,
                                                     unsigned long long) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

SIMCUDA_EXPORT CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle*, void*,
                                                       CUmemAllocationHandleType) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

SIMCUDA_EXPORT CUresult cuMulticastCreate(CUmemGenericAllocationHandle*,
                                          const CUmulticastObjectProp*) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

SIMCUDA_EXPORT CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle, CUdevice) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

SIMCUDA_EXPORT CUresult cuMulticastBindMem(CUmemGenericAllocationHandle, size_t,
                                           CUmemGenericAllocationHandle, size_t, size_t,
                                           unsigned long long) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

SIMCUDA_EXPORT CUresult cuMulticastUnbind(CUmemGenericAllocationHandle, CUdevice, size_t, size_t) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
