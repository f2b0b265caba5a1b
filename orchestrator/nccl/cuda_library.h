#ifndef AUTOBATCH_NCCL_CUDA_LIBRARY_H_
#define AUTOBATCH_NCCL_CUDA_LIBRARY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "orchestrator/nccl/cuda_api.h"

namespace autobatch {

// The CUDA driver's calls that make and fill contexts, opened at run time. NotFound where it cannot
// be opened. Initialise it by DriverApi. Only the reduce program calls this.
absl::StatusOr<std::unique_ptr<CudaApi>> LoadCuda(const std::string& name = "libcuda.so.1");

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_CUDA_LIBRARY_H_
