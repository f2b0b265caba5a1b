// CUDA driver: devices, contexts, memory, errors.

#include <cuda.h>

#include <cstdio>
#include <cstring>
#include <optional>

#include "autobatch/simcuda/device_attributes.h"
#include "autobatch/simcuda/driver.h"
#include "autobatch/simcuda/kernels.h"
#include "autobatch/simcuda/session.h"

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

// A context's handle says whose it is.
constexpr uintptr_t kContextHandle = 0x1000;

CUcontext ContextOf(int ordinal) {
  return reinterpret_cast<CUcontext>(kContextHandle + static_cast<uintptr_t>(ordinal));
}

void* Address(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

std::optional<AddressRange> RangeOf(CUdeviceptr address) {
  Device* const owner = Node::Get().OwnerOf(Address(address));
  return owner == nullptr ? std::nullopt : owner->FindAddresses(Address(address));
}

CUresult NeedDevice(CUdevice device) {
  if (Node::Get().gpus().empty()) return CUDA_ERROR_NO_DEVICE;
  return Node::Get().Visible(device) == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

}  // namespace

SIMCUDA_EXPORT CUresult cuInit(unsigned) {
  return Node::Get().visible().empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuDriverGetVersion(int* version) {
  *version = Node::Get().driver_version();
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuDeviceGetCount(int* count) {
  *count = static_cast<int>(Node::Get().visible().size());
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return NeedDevice(ordinal);
}

SIMCUDA_EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  const CUresult result = NeedDevice(device);
  if (result != CUDA_SUCCESS) return result;
  std::snprintf(name, static_cast<size_t>(length), "%s",
                Node::Get().Visible(device)->card().name.c_str());
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  const CUresult result = NeedDevice(device);
  if (result != CUDA_SUCCESS) return result;
  std::memcpy(uuid, Node::Get().Visible(device)->uuid().bytes.data(), sizeof(*uuid));
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  const CUresult result = NeedDevice(device);
  if (result != CUDA_SUCCESS) return result;
  std::snprintf(text, static_cast<size_t>(length), "0000:%02X:00.0",
                static_cast<unsigned>(Node::Get().Visible(device)->bus() + 1));
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  const CUresult result = NeedDevice(device);
  if (result != CUDA_SUCCESS) return result;
  *bytes = Node::Get().Visible(device)->card().total;
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                                             CUdevice device) {
  const CUresult result = NeedDevice(device);
  if (result != CUDA_SUCCESS) return result;
  *value = DeviceAttribute(*Node::Get().Visible(device), attribute);
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  const CUresult result = NeedDevice(device);
  if (result != CUDA_SUCCESS) return result;
  if (flags != nullptr) *flags = 0;
  *active = Node::Get().Visible(device)->has_context() ? 1 : 0;
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const CUresult result = NeedDevice(device);
  if (result != CUDA_SUCCESS) return result;
  if (!Node::Get().Visible(device)->CreateContext()) return CUDA_ERROR_OUT_OF_MEMORY;
  *context = ContextOf(device);
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { return NeedDevice(device); }

SIMCUDA_EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
  const Device* const device = Node::Get().Visible(CurrentOrdinal());
  *context = device != nullptr && device->has_context() ? ContextOf(CurrentOrdinal()) : nullptr;
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  if (context == nullptr) return CUDA_SUCCESS;
  SetCurrentOrdinal(static_cast<int>(reinterpret_cast<uintptr_t>(context) - kContextHandle));
  cudaError_t error;
  Enter(error);
  return ToDriver(error);
}

SIMCUDA_EXPORT CUresult cuCtxGetDevice(CUdevice* device) {
  *device = CurrentOrdinal();
  return NeedDevice(*device);
}

SIMCUDA_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) { return cuCtxSetCurrent(context); }

SIMCUDA_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return context == nullptr ? CUDA_SUCCESS : cuCtxGetCurrent(context);
}

SIMCUDA_EXPORT CUresult cuCtxSynchronize() { return ToDriver(cudaDeviceSynchronize()); }
SIMCUDA_EXPORT CUresult cuCtxSetLimit(CUlimit, size_t) { return CUDA_SUCCESS; }

SIMCUDA_EXPORT CUresult cuCtxGetLimit(size_t* value, CUlimit) {
  *value = 0;
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuGetErrorString(CUresult result, const char** text) {
  *text = cudaGetErrorString(result == CUDA_ERROR_OUT_OF_MEMORY ? cudaErrorMemoryAllocation
                                                                : static_cast<cudaError_t>(result));
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuGetErrorName(CUresult result, const char** name) {
  switch (result) {
    case CUDA_SUCCESS:
      *name = "CUDA_SUCCESS";
      break;
    case CUDA_ERROR_OUT_OF_MEMORY:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case CUDA_ERROR_NO_DEVICE:
      *name = "CUDA_ERROR_NO_DEVICE";
      break;
    case CUDA_ERROR_INVALID_DEVICE:
      *name = "CUDA_ERROR_INVALID_DEVICE";
      break;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
      break;
    default:
      *name = "CUDA_ERROR_UNKNOWN";
  }
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return ToDriver(cudaMemGetInfo(free, total));
}

SIMCUDA_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, bytes);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return ToDriver(error);
}

SIMCUDA_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  return ToDriver(cudaFree(Address(address)));
}

SIMCUDA_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr* begin, size_t* bytes,
                                                CUdeviceptr address) {
  const std::optional<AddressRange> range = RangeOf(address);
  if (!range.has_value()) return CUDA_ERROR_INVALID_VALUE;
  if (begin != nullptr) *begin = reinterpret_cast<CUdeviceptr>(range->begin);
  if (bytes != nullptr) *bytes = range->bytes;
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuMemsetD32Async(CUdeviceptr, unsigned, size_t, CUstream) {
  LibraryLaunch();
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute,
                                              CUdeviceptr address) {
  const Device* const owner = Node::Get().OwnerOf(Address(address));
  if (owner == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = Node::Get().OrdinalOf(owner);
      break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) = CU_MEMORYTYPE_DEVICE;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(value) = address;
      break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<unsigned long long*>(value) = address;
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return cuMemGetAddressRange(static_cast<CUdeviceptr*>(value), nullptr, address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return cuMemGetAddressRange(nullptr, static_cast<size_t*>(value), address);
    default:
      *static_cast<int*>(value) = 0;
  }
  return CUDA_SUCCESS;
}
