// CUDA runtime: devices, errors, versions.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "autobatch/simcuda/device_attributes.h"
#include "autobatch/simcuda/fault_injection.h"
#include "autobatch/simcuda/runtime_version.h"
#include "autobatch/simcuda/session.h"
#include "autobatch/simcuda/stream.h"

// Names that CUDA 12 and 13 give to different functions are defined below without the macros' help.
#undef cudaGetDeviceProperties

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

// Success where there are devices; makes no context.
cudaError_t NeedDevices() {
  if (!UnsupportedRuntime().empty()) {
    cudaError_t error;
    Enter(error);  // says why
    return error;
  }
  return Node::Get().visible().empty() ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t NeedDevice(int ordinal) {
  const cudaError_t error = NeedDevices();
  if (error != cudaSuccess) return error;
  return Node::Get().Visible(ordinal) == nullptr ? cudaErrorInvalidDevice : cudaSuccess;
}

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorIllegalState, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const ErrorText& TextOf(cudaError_t error) {
  for (const ErrorText& entry : kErrors) {
    if (entry.error == error) return entry;
  }
  return kErrors[std::size(kErrors) - 1];
}

}  // namespace

SIMCUDA_EXPORT cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(Node::Get().visible().size());
  return Report(NeedDevices());
}

SIMCUDA_EXPORT cudaError_t cudaGetDevice(int* device) {
  const cudaError_t error = NeedDevices();
  if (error == cudaSuccess) *device = CurrentOrdinal();
  return Report(error);
}

SIMCUDA_EXPORT cudaError_t cudaSetDevice(int device) {
  cudaError_t error = NeedDevice(device);
  if (error != cudaSuccess) return Report(error);
  SetCurrentOrdinal(device);
  // Since CUDA 12 it makes the context.
  if (Broken() == cudaSuccess) Enter(error);
  return Report(error);
}

SIMCUDA_EXPORT cudaError_t cudaDeviceSynchronize() {
  WaitForStreamsOfDevice();
  WaitForDevice();
  cudaError_t error;
  Enter(error);
  return Report(error);
}

SIMCUDA_EXPORT cudaError_t cudaDeviceReset() { return Report(cudaSuccess); }
SIMCUDA_EXPORT cudaError_t cudaSetDeviceFlags(unsigned) { return Report(cudaSuccess); }

SIMCUDA_EXPORT cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  *flags = 0;
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaDriverGetVersion(int* version) {
  *version = Node::Get().gpus().empty() ? 0 : Node::Get().driver_version();
  return cudaSuccess;
}

SIMCUDA_EXPORT cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = RuntimeVersion();
  return cudaSuccess;
}

// CUDA 12 calls the version with its own layout _v2, CUDA 13 gave the plain name the new layout.
// Before CUDA 12 the plain name's layout was the beginning of CUDA 12's.
SIMCUDA_EXPORT cudaError_t PropertiesPlain(void* properties,
                                           int device) __asm__("cudaGetDeviceProperties");
cudaError_t PropertiesPlain(void* properties, int device) {
  constexpr size_t kCuda11Bytes = 728;
  const cudaError_t error = NeedDevice(device);
  if (error != cudaSuccess) return Report(error);
  if (RuntimeVersion() >= 13000) return FillDeviceProperties(device, properties, /*cuda12=*/false);
  // Room for the larger layout.
  alignas(16) char buffer[2048];
  FillDeviceProperties(device, buffer, /*cuda12=*/true);
  std::memcpy(properties, buffer, kCuda11Bytes);
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t PropertiesV2(void* properties,
                                        int device) __asm__("cudaGetDeviceProperties_v2");
cudaError_t PropertiesV2(void* properties, int device) {
  const cudaError_t error = NeedDevice(device);
  if (error != cudaSuccess) return Report(error);
  return Report(FillDeviceProperties(device, properties, /*cuda12=*/true));
}

SIMCUDA_EXPORT cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute,
                                                  int device) {
  const cudaError_t error = NeedDevice(device);
  if (error != cudaSuccess) return Report(error);
  *value = DeviceAttribute(*Node::Get().Visible(device), attribute);
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  cudaError_t error = NeedDevice(device);
  if (error == cudaSuccess) error = NeedDevice(peer);
  if (error == cudaSuccess) *can = device != peer;
  return Report(error);
}

SIMCUDA_EXPORT cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  return Report(NeedDevice(peer));
}

SIMCUDA_EXPORT cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  const cudaError_t error = NeedDevice(device);
  if (error != cudaSuccess) return Report(error);
  std::snprintf(text, static_cast<size_t>(length), "0000:%02X:00.0",
                static_cast<unsigned>(Node::Get().Visible(device)->bus() + 1));
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaGetLastError() { return LastError(/*clear=*/true); }
SIMCUDA_EXPORT cudaError_t cudaPeekAtLastError() { return LastError(/*clear=*/false); }
SIMCUDA_EXPORT const char* cudaGetErrorName(cudaError_t error) { return TextOf(error).name; }
SIMCUDA_EXPORT const char* cudaGetErrorString(cudaError_t error) { return TextOf(error).text; }

SIMCUDA_EXPORT cudaError_t cudaProfilerStart() { return cudaSuccess; }
SIMCUDA_EXPORT cudaError_t cudaProfilerStop() { return cudaSuccess; }
