#ifndef AUTOBATCH_SIMCUDA_DRIVER_H_
#define AUTOBATCH_SIMCUDA_DRIVER_H_

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace autobatch::simcuda {

// The driver's number for an error of the runtime's: they are the same for most.
inline CUresult ToDriver(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return CUDA_ERROR_OUT_OF_MEMORY;
    case cudaErrorInitializationError:
      return CUDA_ERROR_NOT_INITIALIZED;
    case cudaErrorInvalidConfiguration:
      return CUDA_ERROR_INVALID_VALUE;
    case cudaErrorInsufficientDriver:
      return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    default:
      return static_cast<CUresult>(error);
  }
}

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_DRIVER_H_
