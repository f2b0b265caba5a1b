#ifndef AUTOBATCH_TRIAL_HOST_STATE_H_
#define AUTOBATCH_TRIAL_HOST_STATE_H_

#include <cstdint>
#include <optional>
#include <string>

namespace autobatch {

// What the kernel tells of the host: what it does not tell is absent.
struct HostState {
  // MemAvailable.
  std::optional<int64_t> available_bytes;
  // Processes that the out-of-memory killer has ended since boot, on the host's account or on that
  // of a cgroup: between two readings its growth says that one of them may have been ours.
  std::optional<int64_t> oom_kills;
};

// `proc`: where procfs is mounted.
HostState ReadHostState(const std::string& proc = "/proc");

// Greatest resident size of a running process so far; absent when it is gone.
std::optional<int64_t> PeakResidentBytes(int64_t pid, const std::string& proc = "/proc");

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_HOST_STATE_H_
