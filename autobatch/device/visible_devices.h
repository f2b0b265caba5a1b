#ifndef AUTOBATCH_DEVICE_VISIBLE_DEVICES_H_
#define AUTOBATCH_DEVICE_VISIBLE_DEVICES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace autobatch {

// One compute instance of a GPU in MIG mode.
struct MigInstance {
  // "MIG-<uuid>" (driver 470 and later) or "MIG-GPU-<uuid>/<gi>/<ci>" (earlier ones).
  std::string uuid;
  int64_t gpu_instance = 0;
  int64_t compute_instance = 0;
};

// One GPU of the node, whatever CUDA_VISIBLE_DEVICES says.
struct PhysicalDevice {
  // "GPU-<uuid>"
  std::string uuid;
  bool mig_enabled = false;
  // In the driver's order; empty where MIG is off or no instance was made.
  std::vector<MigInstance> instances;
};

// One device that a CUDA program sees.
struct VisibleDevice {
  // Position in the physical list.
  size_t physical = 0;
  // Position in its `instances`, where the device is a MIG instance.
  std::optional<size_t> instance;
  // Position of the list's entry that named it; absent where the variable is unset.
  std::optional<size_t> entry;
};

struct VisibleDevices {
  // In CUDA's order: the first is cuda:0.
  std::vector<VisibleDevice> devices;
  // Entries of the list; 0 where the variable is unset or empty.
  size_t entries = 0;
  // Why the list gives fewer devices than it has entries (the entry, its position, and what would
  // be right), or fewer than the node has.
  std::vector<std::string> warnings;
};

// Reads CUDA_VISIBLE_DEVICES the way the driver does. `value` is absent where the variable is
// unset: everything is visible; empty: nothing is. `physical` is in the order in which CUDA numbers
// the devices with the variable unset (see device_order.h).
//
//   ResolveVisible("2,0", physical)     -> physical[2], physical[0]
//   ResolveVisible("0,9,1", physical)   -> physical[0], and a warning: entry 2 names no device
//   ResolveVisible("GPU-9e8", physical) -> the one GPU whose UUID begins so
//
// The rule, from NVIDIA's documentation, PyTorch's tests against driver 525 and observations:
// - The first entry decides the kind of all: UUIDs ("GPU-"), MIG ids ("MIG-"), or else indices. An
//   entry of another kind cuts the list.
// - An index is read like strtol does, base 10: space around it, one sign, digits; what follows the
//   digits is ignored ("1x" is 1, "0x1" is 0). No digits, a negative or one past the last cuts.
// - A UUID may be shortened as long as one device alone begins so; upper and lower case differ, no
//   space is skipped. None or several such devices cut the list.
// - A MIG id is "MIG-<uuid>", shortened alike, or "MIG-GPU-<uuid>/<gpu instance>/<compute
// instance>".
// - A device named twice, in whatever words, leaves none visible at all.
// - Of MIG instances, a process sees one: the first named or, where the GPU is named, its first;
// and
//   no whole GPU beside it.
VisibleDevices ResolveVisible(std::optional<absl::string_view> value,
                              std::span<const PhysicalDevice> physical);

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_VISIBLE_DEVICES_H_
