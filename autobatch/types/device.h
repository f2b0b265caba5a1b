#ifndef AUTOBATCH_TYPES_DEVICE_H_
#define AUTOBATCH_TYPES_DEVICE_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace autobatch {

enum class DeviceKind { kCpu, kCuda, kMig };
BOOST_DESCRIBE_ENUM(DeviceKind, kCpu, kCuda, kMig)

// A process other than ours that holds memory of a device.
struct ProcessUse {
  int64_t pid = 0;
  // Absent where the driver does not tell (containers, MIG).
  std::optional<int64_t> bytes;
  // The command's name; empty where /proc does not tell.
  std::string name;
};
BOOST_DESCRIBE_STRUCT(ProcessUse, (), (pid, bytes, name))

// Memory as the driver (CUDA) or the kernel and cgroup (CPU) report it. What is unknown is absent,
// never 0.
struct MemoryInfo {
  std::optional<int64_t> total_bytes;
  std::optional<int64_t> free_bytes;
  std::vector<ProcessUse> others;
};
BOOST_DESCRIBE_STRUCT(MemoryInfo, (), (total_bytes, free_bytes, others))

// One GPU, MIG instance, or the CPU with a memory budget. Its identity is the UUID.
struct Device {
  // "GPU-…", "MIG-…", or "CPU-…" (derived from the host's name).
  std::string uuid;
  DeviceKind kind = DeviceKind::kCpu;
  // The model: "NVIDIA H100 80GB HBM3".
  std::string name;
  // How the user names it: "cuda:0", "cpu". The number is the visible index.
  std::string address;
  std::optional<int64_t> visible_index;
  // The driver's number with CUDA_VISIBLE_DEVICES unset; of the parent GPU for a MIG instance.
  std::optional<int64_t> physical_ordinal;
  std::optional<std::string> pci_bus_id;
  // Shares the host's memory: "free" then leaves out the page cache.
  std::optional<bool> integrated;
  // "8.6"
  std::optional<std::string> compute_capability;
  // Not a real device; every output says so.
  bool simulated = false;
  // Where it comes from: "CUDA_VISIBLE_DEVICES=2,0 entry 1 of 2".
  std::string origin;
  MemoryInfo memory;
};
BOOST_DESCRIBE_STRUCT(Device, (),
                      (uuid, kind, name, address, visible_index, physical_ordinal, pci_bus_id,
                       integrated, compute_capability, simulated, origin, memory))

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_DEVICE_H_
