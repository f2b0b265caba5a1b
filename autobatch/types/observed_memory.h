#ifndef AUTOBATCH_TYPES_OBSERVED_MEMORY_H_
#define AUTOBATCH_TYPES_OBSERVED_MEMORY_H_

#include <atomic>
#include <cstdint>

namespace autobatch {

// Names the file that holds ObservedDevices, for the observer in a command's processes.
inline constexpr char kObserverFileVariable[] = "AUTOBATCH_OBSERVER_FILE";

// Device memory of a command on one device, counted by the observer (autobatch/observer) in each of
// its processes and read by the trial's parent. Zeros are its beginning, but for the budget.
struct ObservedMemory {
  // Bytes that all processes together may allocate; 0: no limit.
  std::atomic<int64_t> budget_bytes;
  // Processes that have called CUDA's allocator.
  std::atomic<int64_t> processes;
  // Allocated now, and at most so far.
  std::atomic<int64_t> held_bytes;
  std::atomic<int64_t> peak_bytes;
  // Allocations that were refused, for the budget or by the driver, and the size of the last one.
  std::atomic<int64_t> refusals;
  std::atomic<int64_t> refused_bytes;
  // Of the processes, those that are at their end: what they held is given back here before the
  // driver does it.
  std::atomic<int64_t> ended;
};
static_assert(std::atomic<int64_t>::is_always_lock_free, "processes share it");

// More than any node has.
inline constexpr int64_t kMostObservedDevices = 64;

// When a device's peak rose: by how many kernels all processes had launched, a clock that goes with
// the program's work and not with its waiting. Each is at least 1 % above the one before, so that
// this many lead from the allocator's least segment to more than any device has.
struct ObservedRises {
  static constexpr int64_t kMost = 1280;
  struct Rise {
    std::atomic<int64_t> launches;
    std::atomic<int64_t> peak_bytes;
  };
  // May be above kMost.
  std::atomic<int64_t> count;
  std::atomic<int64_t> last_peak_bytes;
  Rise rises[kMost];
};

// The devices of one trial, in the order in which the command sees them: a file of just this,
// mapped by all of its processes. Layout is the interface of two programs of one build.
struct ObservedDevices {
  ObservedMemory devices[kMostObservedDevices];
  // Written before the command starts. Of one device alone everything is counted to it.
  int64_t count;
  // As the driver gives them; zeros: unknown, and the number that CUDA gives the device counts.
  unsigned char uuids[kMostObservedDevices][16];
  // Kernels that all processes have launched, on whatever device.
  std::atomic<int64_t> launches;
  ObservedRises rises[kMostObservedDevices];
  // Out-of-memory errors of PyTorch's that Python got to see: where the command ended well
  // nevertheless, it caught them.
  std::atomic<int64_t> python_errors;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_OBSERVED_MEMORY_H_
