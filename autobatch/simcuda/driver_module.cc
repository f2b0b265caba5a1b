// CUDA driver: modules and kernels that a program compiled at run time.

#include <cuda.h>

#include "autobatch/simcuda/driver.h"
#include "autobatch/simcuda/kernels.h"
#include "autobatch/simcuda/session.h"

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

// Nothing is compiled and nothing runs: one module, one link and one kernel serve for all.
CUmodule TheModule() {
  static char module;
  return reinterpret_cast<CUmodule>(&module);
}

// Kernels compiled at run time have no names that anybody registered, and fit every device.
CUfunction TheFunction() {
  static auto* const kernel = new Kernel;
  return reinterpret_cast<CUfunction>(kernel);
}

}  // namespace

SIMCUDA_EXPORT CUresult cuModuleLoad(CUmodule* module, const char*) {
  *module = TheModule();
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void*) {
  *module = TheModule();
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void*, unsigned, CUjit_option*,
                                           void**) {
  *module = TheModule();
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }

SIMCUDA_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) {
  *function = TheFunction();
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule,
                                             const char*) {
  cudaError_t error;
  Device* const device = Enter(error);
  if (device == nullptr) return ToDriver(error);
  if (address != nullptr) *address = reinterpret_cast<CUdeviceptr>(device->ReserveAddresses(1));
  if (bytes != nullptr) *bytes = 0;
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  constexpr int kRegistersPerThread = 32;
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
           : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS            ? kRegistersPerThread
                                                                : 0;
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }

SIMCUDA_EXPORT CUresult cuLaunchKernel(CUfunction, unsigned grid_x, unsigned grid_y,
                                       unsigned grid_z, unsigned block_x, unsigned block_y,
                                       unsigned block_z, unsigned shared_bytes, CUstream stream,
                                       void**, void**) {
  return ToDriver(Launch(reinterpret_cast<Kernel*>(TheFunction()), dim3{grid_x, grid_y, grid_z},
                         dim3{block_x, block_y, block_z}, /*arguments=*/nullptr, shared_bytes,
                         stream));
}

SIMCUDA_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x,
                                                  unsigned grid_y, unsigned grid_z,
                                                  unsigned block_x, unsigned block_y,
                                                  unsigned block_z, unsigned shared_bytes,
                                                  CUstream stream, void** arguments) {
  return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                        stream, arguments, nullptr);
}

SIMCUDA_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* configuration, CUfunction function,
                                         void** arguments, void** more) {
  return cuLaunchKernel(function, configuration->gridDimX, configuration->gridDimY,
                        configuration->gridDimZ, configuration->blockDimX, configuration->blockDimY,
                        configuration->blockDimZ, configuration->sharedMemBytes,
                        configuration->hStream, arguments, more);
}

SIMCUDA_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction,
                                                                    int block_size,
                                                                    size_t shared_bytes) {
  return ToDriver(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, nullptr, block_size, shared_bytes));
}

SIMCUDA_EXPORT CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction,
                                                     const CUlaunchConfig*) {
  *clusters = 1;
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState* state) {
  *state = reinterpret_cast<CUlinkState>(TheModule());
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuLinkAddData_v2(CUlinkState, CUjitInputType, void*, size_t, const char*,
                                         unsigned, CUjit_option*, void**) {
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuLinkComplete(CUlinkState, void** code, size_t* bytes) {
  static char none[16];
  *code = none;
  *bytes = sizeof(none);
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuTensorMapEncodeTiled(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                                               const cuuint64_t*, const cuuint64_t*,
                                               const cuuint32_t*, const cuuint32_t*,
                                               CUtensorMapInterleave, CUtensorMapSwizzle,
                                               CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return CUDA_SUCCESS;
}

SIMCUDA_EXPORT CUresult cuStreamWriteValue32_v2(CUstream, CUdeviceptr, cuuint32_t, unsigned) {
  return CUDA_SUCCESS;
}

// torch before 2.7 looks the function up by its plain name, which the header's macro renames.
SIMCUDA_EXPORT CUresult StreamWriteValue32(CUstream, CUdeviceptr, cuuint32_t,
                                           unsigned) __asm__("cuStreamWriteValue32");
CUresult StreamWriteValue32(CUstream, CUdeviceptr, cuuint32_t, unsigned) { return CUDA_SUCCESS; }

SIMCUDA_EXPORT CUresult cuDeviceGetDevResource(CUdevice, CUdevResource*, CUdevResourceType) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
