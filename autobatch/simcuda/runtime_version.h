#ifndef AUTOBATCH_SIMCUDA_RUNTIME_VERSION_H_
#define AUTOBATCH_SIMCUDA_RUNTIME_VERSION_H_

#include <cstddef>
#include <string>

namespace autobatch::simcuda {

// The version of the CUDA runtime library that this process has loaded, as it says itself: 13000 is
// 13.0. 13.0 where none is loaded, as in a program that asks the driver or NVML only.
int RuntimeVersion();

// Why that version cannot be simulated; empty where it can.
std::string UnsupportedRuntime();

// cuBLAS's, cuDNN's and NCCL's own version numbers; 0 where the library is not loaded.
size_t CublasVersion();
size_t CudnnVersion();
int NcclVersion();

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_RUNTIME_VERSION_H_
