#include "autobatch/simcuda/fault_injection.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>

#include "autobatch/simcuda/phases.h"
#include "autobatch/simcuda/session.h"

namespace autobatch::simcuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSpillSlowness = 20;
// Pauses between launches longer than this were no step.
constexpr auto kLongestPart = std::chrono::milliseconds(50);

std::atomic<uint64_t> allocations = 0;
std::atomic<uint64_t> failures = 0;
std::atomic<uint64_t> all_allocations = 0;
std::atomic<uint64_t> launches = 0;
std::atomic<int64_t> largest_batch = 0;
std::atomic<bool> hangs = false;

bool Strikes(uint64_t number, uint64_t at) { return at != 0 && number == at; }

// Memory beyond the card's lies in the host's, over a slow bus.
void SlowDown(Device& device) {
  thread_local Clock::time_point last = Clock::now();
  const auto part = std::min<Clock::duration>(Clock::now() - last, kLongestPart);
  if (device.Spilled()) {
    const auto until = Clock::now() + (kSpillSlowness - 1) * part;
    while (Clock::now() < until) {
    }
  }
  last = Clock::now();
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
