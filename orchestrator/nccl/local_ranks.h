#ifndef AUTOBATCH_NCCL_LOCAL_RANKS_H_
#define AUTOBATCH_NCCL_LOCAL_RANKS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/clock.h"
#include "autobatch/device/driver_api.h"
#include "orchestrator/nccl/cuda_api.h"
#include "orchestrator/nccl/nccl_api.h"
#include "orchestrator/nccl/reduce_answer.h"
#include "orchestrator/nccl/reduce_protocol.h"
#include "orchestrator/nccl/reduce_request.h"

namespace autobatch {

// What the ranks are driven with. All of it outlives them.
struct RankTools {
  NcclApi& nccl;
  DriverApi& driver;
  CudaApi& cuda;
  const Clock& clock;
  // Passes some time between two looks at what is not ready; true: nobody wants it any more.
  std::function<bool()> pause;
  std::function<void(ReducePhase)> on_phase;
};

// This node's ranks of one communicator, one per device, driven by one thread: group calls begin
// the work of all, and what they wait for is looked at again and again until the deadline. NCCL's
// own waiting is never entered, as far as NCCL keeps to that; for when it does not, the program is
// a child that its parent ends.
//
//   LocalRanks ranks(tools);
//   absl::StatusOr<ReduceAnswer> answer = ranks.Reduce(request, deadline);
//   ... tell it, since the next call may hang ...
//   answer.ok() ? ranks.Close(deadline) : ranks.Abort();
class LocalRanks {
 public:
  explicit LocalRanks(RankTools tools) : tools_(std::move(tools)) {}

  // Errors as of Reducer::Reduce; a Cancelled one is pause()'s. Once.
  absl::StatusOr<ReduceAnswer> Reduce(const ReduceRequest& request, SteadyTime deadline);

  // After an answer: lets go of the communicators together, so that no rank is missed by another
  // that still sends. Aborts what is not done by the deadline.
  void Close(SteadyTime deadline);

  // Ends all communicators where they are.
  void Abort();

 private:
  struct Rank {
    int64_t rank = 0;
    std::string uuid;
    CudaContext* context = nullptr;
    CudaStream* stream = nullptr;
    uint64_t number = 0;
    uint64_t gradients = 0;
    // bytes, before there is a communicator; 0: the driver did not tell.
    size_t free_before = 0;
    NcclHandle handle = nullptr;
  };

  absl::Status OpenDevices(const ReduceRequest& request);
  absl::Status OpenDevice(const ReduceDevice& asked, int64_t gradient_bytes, Rank& rank);
  absl::StatusOr<DriverDevice> FindDevice(const std::string& uuid);
  absl::Status Init(const ReduceRequest& request, SteadyTime deadline);
  // The same collective on all ranks, to its end.
  absl::Status AllReduce(ReducePhase phase, uint64_t Rank::* address, size_t count,
                         NcclReduction reduction, SteadyTime deadline);
  absl::StatusOr<int64_t> ReadMinimum();
  std::vector<ReducedDevice> Measure();

  // One call for each rank, on its device, between GroupStart and GroupEnd.
  absl::Status ForEachInGroup(absl::string_view what, absl::FunctionRef<NcclResult(Rank&)> call);
  // Until `ready` says true of every rank and NCCL has nothing in progress on it.
  absl::Status WaitForAll(ReducePhase phase, SteadyTime deadline,
                          absl::FunctionRef<absl::StatusOr<bool>(Rank&)> ready);
  absl::Status EnterFor(const Rank& rank);
  absl::StatusOr<bool> IsIdle(Rank& rank, absl::string_view what);
  absl::Status NcclError(absl::string_view what, NcclResult result, NcclHandle handle);
  absl::Status CudaError(absl::string_view what, const Rank& rank, DriverResult result);

  const RankTools tools_;
  int64_t world_size_ = 0;
  std::vector<Rank> ranks_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_LOCAL_RANKS_H_
