#ifndef AUTOBATCH_DEVICE_DEVICE_REQUEST_H_
#define AUTOBATCH_DEVICE_DEVICE_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// Which devices a user asks for: what `--device` says.
//
//   ""            every visible CUDA device, or the CPU where there is none
//   "cuda"        every visible CUDA device
//   "cuda:0,2"    the visible devices 0 and 2, in this order
//   "cpu"         the CPU
//   "sim:LIST"    simulated CUDA devices: "sim:rtx3090,a100-80"
struct DeviceRequest {
  enum class Kind { kDefault, kCuda, kCpu };
  Kind kind = Kind::kDefault;
  // Visible indices, no two alike; empty: all.
  std::vector<int64_t> indices;
  // The list of simulated devices, all of which are asked for; empty: real ones.
  std::string simulated;
  // Bytes that the CPU device may use in place of its default of 2 GiB; absent: the default.
  std::optional<int64_t> cpu_memory_limit;
  // Processes of our own: what they hold is not others' use.
  std::vector<int64_t> own_pids;
};

// InvalidArgument names what is wrong and what would be right; an unknown kind is answered with the
// nearest one, a repeated index is named. What the list of simulated devices means is not looked
// at.
absl::StatusOr<DeviceRequest> ParseDeviceRequest(absl::string_view text);

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_DEVICE_REQUEST_H_
