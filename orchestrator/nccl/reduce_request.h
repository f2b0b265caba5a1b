#ifndef AUTOBATCH_NCCL_REDUCE_REQUEST_H_
#define AUTOBATCH_NCCL_REDUCE_REQUEST_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace autobatch {

// One rank: a GPU of this node and what it brings to the minimum.
struct ReduceDevice {
  std::string uuid;
  // A batch; 0 = this device cannot train.
  int64_t value = 0;
};
BOOST_DESCRIBE_STRUCT(ReduceDevice, (), (uuid, value))

// This node's part of one minimum over all ranks.
struct ReduceRequest {
  // What the coordinator handed out for this attempt, see unique_id.h. Never used twice: NCCL hangs
  // on an id whose ranks have met already.
  std::string unique_id;
  // Ranks of all nodes together.
  int64_t world_size = 0;
  // Rank of devices[0]; devices[i] is rank_base + i.
  int64_t rank_base = 0;
  std::vector<ReduceDevice> devices;
  // bytes; a second all-reduce of this size runs before the memory is read, since NCCL connects the
  // channels of an algorithm at its first use and one number needs only the smallest of them.
  // Default: DDP's buckets are of 25 MiB.
  int64_t gradient_bytes = int64_t{25} << 20;
};
BOOST_DESCRIBE_STRUCT(ReduceRequest, (),
                      (unique_id, world_size, rank_base, devices, gradient_bytes))

// More is no cluster but a mistake, or worse.
inline constexpr int64_t kMostReduceRanks = 1 << 20;
inline constexpr int64_t kMostReduceDevices = 1024;

// InvalidArgument names what is wrong: an id that is none, ranks outside the world, a device named
// twice, a negative value.
absl::Status CheckReduceRequest(const ReduceRequest& request);

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_REDUCE_REQUEST_H_
