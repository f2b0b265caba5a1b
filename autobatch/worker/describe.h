#ifndef AUTOBATCH_WORKER_DESCRIBE_H_
#define AUTOBATCH_WORKER_DESCRIBE_H_

#include "autobatch/types/protocol.h"

namespace autobatch {

// The versions of the libraries that this process really runs with, and the devices that the CUDA
// driver shows it. Creates no context, so that it costs no device memory and disturbs nobody; free
// memory is therefore unknown.
WorkerDescription DescribeWorker();

// 90100 -> "9.1.0" for cuDNN and NCCL (ten thousands, hundreds, ones), 13000 -> "13.0" for CUDA
// (thousands, tens).
std::string FormatLibraryVersion(int version);
std::string FormatCudaVersion(int version);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_DESCRIBE_H_
