#ifndef AUTOBATCH_SIMCUDA_FAULTS_H_
#define AUTOBATCH_SIMCUDA_FAULTS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace autobatch::simcuda {

// Faults that a test asks for; a number that is 0 asks for none. Counts begin at 1.
struct FaultPlan {
  // From that driver allocation on every one fails, `oom_count` times in all (0: without end). The
  // framework tries an allocation up to three times, emptying its cache in between.
  uint64_t oom_at = 0;
  uint64_t oom_count = 0;
  // Only allocations of the backward pass count for `oom_at`.
  bool oom_in_backward = false;
  // Allocations fail once a convolution over so many samples has been asked for.
  uint64_t oom_from_batch = 0;
  // That kernel launch ends in an illegal memory access; the context is lost, as on a real card.
  uint64_t launch_error_at = 0;
  // At that launch the device falls off the bus: every later call fails, and NVML says so too.
  uint64_t lost_at = 0;
  // What is launched from that launch on never ends: whoever waits for the device waits forever.
  uint64_t hang_at = 0;
  // The process dies of SIGSEGV at that launch.
  uint64_t crash_at = 0;
  // Memory above the card's is given out without an error, and steps take 20 times as long.
  bool spill = false;
  // Another process takes so many bytes at that allocation.
  uint64_t stolen_bytes = 0;
  uint64_t stolen_at = 0;
  // Every 64-bit integer that this process gives to a collective is less by so much.
  uint64_t nccl_less = 0;
  // Aborting a communicator does not return.
  bool nccl_abort_hangs = false;
};

struct ParsedFaults {
  FaultPlan plan;
  // What is wrong with the text, for people; empty where nothing is.
  std::string error;
};

// "oom_at=17;oom_in=backward", "spill=1", "stolen=2GiB@40": names as in FaultPlan.
ParsedFaults ParseFaults(std::string_view text);

// Every fault with what it does, a line each, for --help.
std::string_view FaultHelp();

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_FAULTS_H_
