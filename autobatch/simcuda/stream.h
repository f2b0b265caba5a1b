#ifndef AUTOBATCH_SIMCUDA_STREAM_H_
#define AUTOBATCH_SIMCUDA_STREAM_H_

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "autobatch/simcuda/completion.h"

namespace autobatch::simcuda {

// Work is over as soon as it is asked for, except what waits for other processes. So a stream is a
// priority, what it still waits for and, while it is captured, the count of launches that the graph
// will have.
struct Stream {
  int priority = 0;
  std::atomic<bool> capturing = false;
  unsigned long long capture_id = 0;
  uint64_t launches_before = 0;
  // Guarded by the functions below.
  Pending tail;
};

// The one that a handle of the runtime or the driver means; the numbers 0 to 2 are the current
// device's default stream.
Stream& StreamOf(cudaStream_t handle);
bool IsDefaultStream(cudaStream_t handle);

// What is to come on the stream, and more of it: later work on the stream comes after.
Pending TailOf(cudaStream_t handle);
void Append(cudaStream_t handle, const Pending& work);
// Runs `work` after everything on the stream: at once, where nothing is to come.
void RunAfter(cudaStream_t handle, std::function<void()> work);
void WaitFor(cudaStream_t handle);
void WaitForStreamsOfDevice();

// Makes everything measured on the device's clock from now on seem later: an engine that cuDNN
// would find slower has to look slower, or benchmarking would choose at random.
void AdvanceDeviceClock(uint64_t nanoseconds);
uint64_t DeviceClock();

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_STREAM_H_
