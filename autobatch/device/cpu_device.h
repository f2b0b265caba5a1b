#ifndef AUTOBATCH_DEVICE_CPU_DEVICE_H_
#define AUTOBATCH_DEVICE_CPU_DEVICE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/types/device.h"

namespace autobatch {

// "CPU-" and 128 bits made of the host's (or agent's) name and an index: the same each time, and
// another for each of several agents on one host.
std::string CpuUuid(absl::string_view host_name, int64_t index);

// The CPU as a device. Its free bytes are the budget that training may use: the least of
//   - `memory_limit`, or 2 GiB where absent: enough to find a batch in, too little to disturb
//   others;
//   - MemAvailable − 1 GiB, which the rest of the system may need meanwhile;
//   - what the cgroup still allows.
// Which of them it is, the origin says. Its total is the host's. `root` stands before /proc and
// /sys. NotFound where nothing is left of the memory.
absl::StatusOr<Device> CpuDevice(absl::string_view root, absl::string_view host_name,
                                 std::optional<int64_t> memory_limit);

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_CPU_DEVICE_H_
