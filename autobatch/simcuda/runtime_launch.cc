// CUDA runtime: registering and launching kernels, and what is asked about them.

#include <cuda_runtime_api.h>
#include <vector_types.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "autobatch/simcuda/kernels.h"
#include "autobatch/simcuda/session.h"

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

struct CallConfiguration {
  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  void* stream;
};
thread_local std::vector<CallConfiguration> call_configurations;

Kernel* KernelOf(cudaKernel_t handle) { return reinterpret_cast<Kernel*>(handle); }

}  // namespace

// What compiled CUDA code calls; no header declares them.

SIMCUDA_EXPORT void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(RegisterModule(wrapper));
}
SIMCUDA_EXPORT void __cudaRegisterFatBinaryEnd(void**) {}
SIMCUDA_EXPORT void __cudaUnregisterFatBinary(void**) {}
SIMCUDA_EXPORT void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
SIMCUDA_EXPORT void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int,
                                             int) {}
SIMCUDA_EXPORT char __cudaInitModule(void**) { return 0; }

SIMCUDA_EXPORT void __cudaRegisterFunction(void** module, const char* host_function, char*,
                                           const char* name, int, uint3*, uint3*, dim3*, dim3*,
                                           int*) {
  RegisterKernel(reinterpret_cast<KernelModule*>(module), host_function, name);
}

SIMCUDA_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                                    CUstream_st* stream) {
  call_configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}

SIMCUDA_EXPORT cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                                      void* stream) {
  if (call_configurations.empty()) return Report(cudaErrorMissingConfiguration);
  const CallConfiguration top = call_configurations.back();
  call_configurations.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<void**>(stream) = top.stream;
  return cudaSuccess;
}

SIMCUDA_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  *kernel = reinterpret_cast<cudaKernel_t>(FindKernel(host_function));
  return cudaSuccess;
}

SIMCUDA_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                              void** arguments, size_t shared_bytes,
                                              cudaStream_t stream) {
  return Launch(KernelOf(kernel), grid, block, arguments, shared_bytes, stream);
}

SIMCUDA_EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block,
                                                   void** arguments, size_t shared_bytes,
                                                   cudaStream_t stream) {
  return Launch(KernelOf(kernel), grid, block, arguments, shared_bytes, stream);
}

SIMCUDA_EXPORT cudaError_t cudaLaunchKernel(const void* host_function, dim3 grid, dim3 block,
                                            void** arguments, size_t shared_bytes,
                                            cudaStream_t stream) {
  return Launch(FindKernel(host_function), grid, block, arguments, shared_bytes, stream);
}

SIMCUDA_EXPORT cudaError_t cudaLaunchCooperativeKernel(const void* host_function, dim3 grid,
                                                       dim3 block, void** arguments,
                                                       size_t shared_bytes, cudaStream_t stream) {
  return Launch(FindKernel(host_function), grid, block, arguments, shared_bytes, stream);
}

SIMCUDA_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* configuration,
                                               const void* host_function, void** arguments) {
  return Launch(FindKernel(host_function), configuration->gridDim, configuration->blockDim,
                arguments, configuration->dynamicSmemBytes, configuration->stream);
}

SIMCUDA_EXPORT cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  return __cudaGetKernel(kernel, host_function);
}

SIMCUDA_EXPORT cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function,
                                               const void* host_function) {
  *function = reinterpret_cast<cudaFunction_t>(FindKernel(host_function));
  return Report(cudaSuccess);
}

// The framework chooses its code by the version that the driver would run: it has to be the true
// one.
SIMCUDA_EXPORT cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes,
                                                 const void* host_function) {
  constexpr int kRegistersPerThread = 32;
  cudaError_t error;
  const Device* const device = Enter(error);
  if (device == nullptr) return error;
  const auto code = CodeFor(*FindKernel(host_function), *device);
  if (!code) return Report(cudaErrorNoKernelImageForDevice);
  std::memset(attributes, 0, sizeof(*attributes));
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = kRegistersPerThread;
  attributes->binaryVersion = code->binary;
  attributes->ptxVersion = code->ptx;
  attributes->maxDynamicSharedSizeBytes = 49152;
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute attribute,
                                                int value) {
  cudaError_t error;
  const Device* const device = Enter(error);
  if (device == nullptr) return error;
  const bool too_much =
      attribute == cudaFuncAttributeMaxDynamicSharedMemorySize &&
      (value < 0 || static_cast<uint64_t>(value) > device->card().shared_per_block);
  return Report(too_much ? cudaErrorInvalidValue : cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void*, int block_size, size_t shared_bytes, unsigned) {
  constexpr int kWarp = 32;
  constexpr uint64_t kReservedShared = 1024;
  cudaError_t error;
  const Device* const device = Enter(error);
  if (device == nullptr) return error;
  const Card& card = device->card();
  const int threads = std::max(kWarp, (block_size + kWarp - 1) / kWarp * kWarp);
  *blocks = std::min(card.threads_per_multiprocessor / threads, BlocksPerMultiprocessor(card));
  if (shared_bytes > 0) {
    *blocks = std::min(*blocks, static_cast<int>(card.shared_per_multiprocessor /
                                                 (shared_bytes + kReservedShared)));
  }
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                         const void* function,
                                                                         int block_size,
                                                                         size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size,
                                                                shared_bytes, 0);
}
