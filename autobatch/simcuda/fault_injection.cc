#include "autobatch/simcuda/fault_injection.h"

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>

#include "autobatch/simcuda/phases.h"
#include "autobatch/simcuda/session.h"

namespace autobatch::simcuda {
namespace {

using std::chrono::nanoseconds;

constexpr int kSpillSlowness = 20;
// Shorter sleeps would take longer than they say.
constexpr nanoseconds kShortestSleep = std::chrono::milliseconds(1);

std::atomic<uint64_t> allocations = 0;
std::atomic<uint64_t> failures = 0;
std::atomic<uint64_t> all_allocations = 0;
std::atomic<uint64_t> launches = 0;
std::atomic<int64_t> largest_batch = 0;
std::atomic<bool> hangs = false;

bool Strikes(uint64_t number, uint64_t at) { return at != 0 && number == at; }

nanoseconds ProcessorTime() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

// Memory beyond the card's lies in the host's, over a slow bus. On a simulated device a step's time
// is the processor time that its launches take.
void SlowDown(Device& device) {
  static std::mutex mutex;
  static nanoseconds last = ProcessorTime();
  static nanoseconds owed = nanoseconds(0);
  const std::lock_guard lock(mutex);
  const nanoseconds now = ProcessorTime();
  if (device.Spilled()) owed += (kSpillSlowness - 1) * (now - last);
  if (owed >= kShortestSleep) {
    std::this_thread::sleep_for(owed);
    owed = nanoseconds(0);
  }
  last = now;
}

}  // namespace

bool FaultsAtAllocation(Device& device) {
  const FaultPlan& plan = Node::Get().faults();
  if (Strikes(++all_allocations, plan.stolen_at)) device.Steal(plan.stolen_bytes);
  const bool batch_too_large =
      plan.oom_from_batch != 0 && largest_batch >= static_cast<int64_t>(plan.oom_from_batch);
  bool counted = false;
  if (plan.oom_at != 0 && (!plan.oom_in_backward || InBackwardThread())) {
    counted = ++allocations >= plan.oom_at;
  }
  if (!batch_too_large && !counted) return false;
  return plan.oom_count == 0 || ++failures <= plan.oom_count;
}

void FaultsAtLaunch(Device& device) {
  const FaultPlan& plan = Node::Get().faults();
  const uint64_t number = ++launches;
  if (Strikes(number, plan.launch_error_at)) Break(cudaErrorIllegalAddress);
  if (Strikes(number, plan.lost_at)) Break(kDeviceLost);
  if (Strikes(number, plan.hang_at)) hangs = true;
  if (Strikes(number, plan.crash_at)) {
    // Whatever handler the program has, it dies.
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
  }
  if (plan.spill) SlowDown(device);
}

void WaitForDevice() {
  while (hangs) pause();
}

bool DeviceHangs() { return hangs; }

void SawBatch(int64_t samples) {
  int64_t largest = largest_batch;
  while (samples > largest && !largest_batch.compare_exchange_weak(largest, samples)) {
  }
}

}  // namespace autobatch::simcuda
