#ifndef AUTOBATCH_DEVICE_HOST_MEMORY_H_
#define AUTOBATCH_DEVICE_HOST_MEMORY_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace autobatch {

// The host's memory; what the kernel does not tell is absent.
struct HostMemory {
  // MemTotal.
  std::optional<int64_t> total_bytes;
  // MemAvailable: what can be had without swapping, page cache included.
  std::optional<int64_t> available_bytes;
  // What this process's cgroup, or one above it, still allows; absent: no limit. Never negative.
  std::optional<int64_t> cgroup_room_bytes;
};

// Reads /proc/meminfo, and the limits of cgroup v1 (memory.limit_in_bytes), v2 (memory.max and
// memory.high, beyond which the kernel throttles to a crawl) or both at once, in the process's own
// cgroup and in all above it. Room is the limit less the usage, where inactive page cache does not
// count: the kernel gives it back first. `root` stands before each path.
HostMemory ReadHostMemory(absl::string_view root);

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_HOST_MEMORY_H_
