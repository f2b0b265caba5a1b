// CUDA runtime: streams and events.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "autobatch/simcuda/fault_injection.h"
#include "autobatch/simcuda/session.h"
#include "autobatch/simcuda/stream.h"

namespace autobatch::simcuda {
namespace {

std::atomic<uint64_t> clock_advance = 0;

constexpr size_t kMostDevices = 64;

// Everything still to come, by device. Almost no program waits for others: it pays for one look.
struct Unfinished {
  std::mutex mutex;
  std::vector<Pending> of_device[kMostDevices];
};

std::atomic<bool> any_unfinished = false;

Unfinished& TheUnfinished() {
  static auto* const unfinished = new Unfinished;
  return *unfinished;
}

size_t DevicePlace() { return static_cast<size_t>(CurrentOrdinal()) % kMostDevices; }

}  // namespace

bool IsDefaultStream(cudaStream_t handle) { return reinterpret_cast<uintptr_t>(handle) <= 2; }

Stream& StreamOf(cudaStream_t handle) {
  static auto* const defaults = new Stream[kMostDevices];
  return IsDefaultStream(handle) ? defaults[DevicePlace()] : *reinterpret_cast<Stream*>(handle);
}

Pending TailOf(cudaStream_t handle) {
  if (!any_unfinished) return nullptr;
  const std::lock_guard lock(TheUnfinished().mutex);
  Pending& tail = StreamOf(handle).tail;
  if (!IsPending(tail)) tail = nullptr;
  return tail;
}

void Append(cudaStream_t handle, const Pending& work) {
  if (!IsPending(work)) return;
  Unfinished& unfinished = TheUnfinished();
  const std::lock_guard lock(unfinished.mutex);
  any_unfinished = true;
  Stream& stream = StreamOf(handle);
  stream.tail = Both(stream.tail, work);
  std::vector<Pending>& all = unfinished.of_device[DevicePlace()];
  std::erase_if(all, [](const Pending& pending) { return pending->done(); });
  all.push_back(work);
}

void RunAfter(cudaStream_t handle, std::function<void()> work) {
  const Pending before = TailOf(handle);
  if (before == nullptr) return work();
  const auto end = std::make_shared<Completion>();
  before->Then([work = std::move(work), end] {
    work();
    end->Finish();
  });
  Append(handle, end);
}

void WaitFor(cudaStream_t handle) {
  if (const Pending tail = TailOf(handle)) tail->Wait();
}

void WaitForStreamsOfDevice() {
  if (!any_unfinished) return;
  std::vector<Pending> all;
  {
    const std::lock_guard lock(TheUnfinished().mutex);
    all = TheUnfinished().of_device[DevicePlace()];
  }
  for (const Pending& pending : all) pending->Wait();
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
  // What was to come on the stream when it was recorded.
  Pending before;
};

Event& EventOf(cudaEvent_t handle) { return *reinterpret_cast<Event*>(handle); }

cudaError_t Wait() {
  WaitForDevice();
  return Report(Broken());
}

cudaError_t Query(const Pending& before) {
  return Report(DeviceHangs() || IsPending(before) ? cudaErrorNotReady : Broken());
}

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

SIMCUDA_EXPORT cudaError_t cudaStreamQuery(cudaStream_t stream) { return Query(TailOf(stream)); }

SIMCUDA_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  WaitFor(stream);
  return Wait();
}

SIMCUDA_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  Append(stream, EventOf(event).before);
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                                 void* data, unsigned) {
  RunAfter(stream, [=] { callback(stream, Broken(), data); });
  return Report(cudaSuccess);
}

SIMCUDA_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                                              void* data) {
  RunAfter(stream, [=] { function(data); });
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

SIMCUDA_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  EventOf(event).nanoseconds = DeviceClock();
  EventOf(event).before = TailOf(stream);
  return Report(Broken());
}

SIMCUDA_EXPORT cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                                    unsigned) {
  return cudaEventRecord(event, stream);
}

SIMCUDA_EXPORT cudaError_t cudaEventQuery(cudaEvent_t event) {
  return Query(EventOf(event).before);
}

SIMCUDA_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const Pending before = EventOf(event).before) before->Wait();
  return Wait();
}

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
