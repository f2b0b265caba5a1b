#ifndef AUTOBATCH_SIMCUDA_STREAM_H_
#define AUTOBATCH_SIMCUDA_STREAM_H_

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace autobatch::simcuda {

// Work is over as soon as it is asked for, so a stream is a priority and, while it is captured, the
// count of launches that the graph will have.
struct Stream {
  int priority = 0;
  std::atomic<bool> capturing = false;
  unsigned long long capture_id = 0;
  uint64_t launches_before = 0;
};

// The one that a handle of the runtime or the driver means; the numbers 0 to 2 are the default
// streams.
Stream& StreamOf(cudaStream_t handle);
bool IsDefaultStream(cudaStream_t handle);

// Makes everything measured on the device's clock from now on seem later: an engine that cuDNN
// would find slower has to look slower, or benchmarking would choose at random.
void AdvanceDeviceClock(uint64_t nanoseconds);
uint64_t DeviceClock();

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_STREAM_H_
