// CUDA runtime: streams and events.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "autobatch/simcuda/fault_injection.h"
#include "autobatch/simcuda/session.h"
#include "autobatch/simcuda/stream.h"

namespace autobatch::simcuda {
namespace {

std::atomic<uint64_t> clock_advance = 0;

}  // namespace

bool IsDefaultStream(cudaStream_t handle) { return reinterpret_cast<uintptr_t>(handle) <= 2; }

Stream& StreamOf(cudaStream_t handle) {
  static auto* const none = new Stream;
  return IsDefaultStream(handle) ? *none : *reinterpret_cast<Stream*>(handle);
}

void AdvanceDeviceClock(uint64_t nanoseconds) { clock_advance += nanoseconds; }

uint64_t DeviceClock() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count()) + clock_advance;
}

}  // namespace autobatch::simcuda

using namespace autobatch::simcuda;  // NOLINT: the functions below have C names.

namespace {

struct Event {
  uint64_t nanoseconds = 0;
};

Event& EventOf(cudaEvent_t handle) { return *reinterpret_cast<Event*>(handle); }

cudaError_t Wait() {
  WaitForDevice();
  return Report(Broken());
}

cudaError_t Query() { return Report(DeviceHangs() ? cudaErrorNotReady : Broken()); }

}  // namespace

SIMCUDA_EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned,
                                                        int priority) {
  cudaError_t error;
  if (Enter(error) == nullptr) return error;
  auto* const made = new Stream;
  made->priority = priority;
  *stream = reinterpret_cast<cudaStream_t>(made);
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

SIMCUDA_EXPORT cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

SIMCUDA_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (!IsDefaultStream(stream)) delete &StreamOf(stream);
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  *priority = StreamOf(stream).priority;
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaStreamQuery(cudaStream_t) { return Query(); }
SIMCUDA_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t) { return Wait(); }

SIMCUDA_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                                 void* data, unsigned) {
  callback(stream, Broken(), data);
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* data) {
  function(data);
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  cudaError_t error;
  if (Enter(error) == nullptr) return error;
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

SIMCUDA_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete &EventOf(event);
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  EventOf(event).nanoseconds = DeviceClock();
  return Report(Broken());
}

SIMCUDA_EXPORT cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                                    unsigned) {
  return cudaEventRecord(event, stream);
}

SIMCUDA_EXPORT cudaError_t cudaEventQuery(cudaEvent_t) { return Query(); }
SIMCUDA_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t) { return Wait(); }

SIMCUDA_EXPORT cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start,
                                                cudaEvent_t end) {
  constexpr double kNanosecondsPerMillisecond = 1e6;
  constexpr double kLeast = 1e-4;  // nothing takes no time: throughput is a quotient
  const auto passed = static_cast<int64_t>(EventOf(end).nanoseconds - EventOf(start).nanoseconds);
  *milliseconds = static_cast<float>(
      std::max(kLeast, static_cast<double>(passed) / kNanosecondsPerMillisecond));
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  std::memset(handle, 0, sizeof(*handle));
  std::memcpy(handle, &event, sizeof(event));
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  std::memcpy(event, &handle, sizeof(*event));
  return Report(cudaSuccess);
}
