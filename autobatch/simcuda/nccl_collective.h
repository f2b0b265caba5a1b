#ifndef AUTOBATCH_SIMCUDA_NCCL_COLLECTIVE_H_
#define AUTOBATCH_SIMCUDA_NCCL_COLLECTIVE_H_

#include <nccl.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "autobatch/simcuda/nccl_communicator.h"

namespace autobatch::simcuda {

// What a rank asks of the others.
struct Collective {
  enum class Kind {
    kAllReduce,
    kReduce,
    kBroadcast,
    kAllGather,
    kReduceScatter,
    kAllToAll,
    kSend,
    kReceive
  };

  Kind kind = Kind::kAllReduce;
  const void* from = nullptr;
  void* to = nullptr;
  // Elements, as the function of that name counts them.
  size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t operation = ncclSum;
  // Of reduce and broadcast; the other one of send and receive.
  int root = 0;
};

// Asks for it after the stream's work; results are there when the stream comes to its end. Messages
// that were asked for together (of kinds kSend and kReceive only) go through in any order.
ncclResult_t Issue(Communicator& communicator, const std::vector<Collective>& together,
                   cudaStream_t stream);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_NCCL_COLLECTIVE_H_
