#ifndef AUTOBATCH_NCCL_REDUCE_ANSWER_H_
#define AUTOBATCH_NCCL_REDUCE_ANSWER_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace autobatch {

// The NCCL that a node would use.
struct NcclDescription {
  // "2.28.9"
  std::string version;
  // Its file; empty where the loader does not tell.
  std::string path;
};
BOOST_DESCRIBE_STRUCT(NcclDescription, (), (version, path))

struct ReducedDevice {
  std::string uuid;
  int64_t rank = 0;
  // What the driver had less of after the communicator's first collectives than before its making.
  // Absent where the driver does not tell, or another process gave memory back meanwhile.
  std::optional<int64_t> communicator_bytes;
};
BOOST_DESCRIBE_STRUCT(ReducedDevice, (), (uuid, rank, communicator_bytes))

// What all ranks got.
struct ReduceAnswer {
  int64_t minimum = 0;
  NcclDescription library;
  // As they were asked for.
  std::vector<ReducedDevice> devices;
  // From the first call to a communicator that all ranks have joined, and from there to the
  // minimum.
  double init_ms = 0;
  double reduce_ms = 0;
};
BOOST_DESCRIBE_STRUCT(ReduceAnswer, (), (minimum, library, devices, init_ms, reduce_ms))

// The most that any of this node's devices gave to its communicator; absent where none tells.
inline std::optional<int64_t> CommunicatorBytes(const ReduceAnswer& answer) {
  std::optional<int64_t> most;
  for (const ReducedDevice& device : answer.devices) {
    if (device.communicator_bytes.has_value() &&
        (!most.has_value() || *device.communicator_bytes > *most)) {
      most = device.communicator_bytes;
    }
  }
  return most;
}

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_REDUCE_ANSWER_H_
