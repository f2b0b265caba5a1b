#ifndef AUTOBATCH_SIMCUDA_COPY_H_
#define AUTOBATCH_SIMCUDA_COPY_H_

#include <cuda_runtime_api.h>

#include <cstddef>

namespace autobatch::simcuda {

// Copies between any two places of the host and of devices. What a device's memory holds is known
// only where it is kept (kept_bytes.h); the rest reads as zero, and a number that the last kernel
// would have counted as read_back.h says.
cudaError_t Copy(void* to, const void* from, size_t bytes);

// Sets every byte, as cudaMemset does.
cudaError_t Fill(void* address, int value, size_t bytes);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_COPY_H_
