// CUDA driver: streams, and copies of programs that use no runtime.

#include <cuda.h>

#include "autobatch/simcuda/driver.h"
#include "autobatch/simcuda/session.h"

SIMCUDA_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return autobatch::simcuda::ToDriver(cudaStreamCreateWithFlags(stream, flags));
}

SIMCUDA_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  return autobatch::simcuda::ToDriver(cudaStreamDestroy(stream));
}

SIMCUDA_EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(stream, &capturing);
  *status = static_cast<CUstreamCaptureStatus>(capturing);
  return autobatch::simcuda::ToDriver(error);
}

SIMCUDA_EXPORT CUresult cuStreamQuery(CUstream stream) {
  return autobatch::simcuda::ToDriver(cudaStreamQuery(stream));
}

SIMCUDA_EXPORT CUresult cuStreamSynchronize(CUstream stream) {
  return autobatch::simcuda::ToDriver(cudaStreamSynchronize(stream));
}

SIMCUDA_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return autobatch::simcuda::ToDriver(
      cudaMemcpy(reinterpret_cast<void*>(to), from, bytes, cudaMemcpyHostToDevice));
}

SIMCUDA_EXPORT CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return autobatch::simcuda::ToDriver(
      cudaMemcpy(to, reinterpret_cast<const void*>(from), bytes, cudaMemcpyDeviceToHost));
}
