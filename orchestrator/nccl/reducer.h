#ifndef AUTOBATCH_NCCL_REDUCER_H_
#define AUTOBATCH_NCCL_REDUCER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "autobatch/base/clock.h"
#include "autobatch/trial/cancel_signal.h"
#include "orchestrator/nccl/reduce_answer.h"
#include "orchestrator/nccl/reduce_request.h"

namespace autobatch {

// An id that ranks can meet under, for as long as this object lives: NCCL listens for them in the
// process that made it. Dropped when the attempt is over, however it ended.
class UniqueIdHolder {
 public:
  virtual ~UniqueIdHolder() = default;
  // 256 hex digits. Not for logs: who knows it can join.
  virtual const std::string& unique_id() const = 0;
};

// The minimum over all ranks by NCCL. Each call blocks its thread, waits no longer than to
// `deadline` and the few seconds that ending a child takes, and leaves no process behind; `cancel`
// ends it from any thread. Thread-safe.
//
//   reducer->MakeUniqueId(...) on one node; its unique_id() goes to all of them; then on each
//   absl::StatusOr<ReduceAnswer> answer = reducer->Reduce(request, deadline, cancel);
//   ... answer->minimum must be the minimum that everybody reported ...
//
// Errors, all with words for people:
//   FailedPrecondition  this node has no NCCL that could be used, and why ("no NCCL: ...")
//   DeadlineExceeded    what was waited for (ranks to join, the all-reduce)
//   Aborted             NCCL itself failed; mostly, a peer is gone
//   ResourceExhausted   no device memory for the communicator, no processes or descriptors here
//   Unavailable         the child ended without an answer: its signal and its last lines
//   Cancelled           by `cancel`
//   InvalidArgument     the request, see CheckReduceRequest
class Reducer {
 public:
  virtual ~Reducer() = default;

  // One per attempt, on any one node whose NCCL network reaches the others; needs no GPU.
  virtual absl::StatusOr<std::unique_ptr<UniqueIdHolder>> MakeUniqueId(
      SteadyTime deadline, const CancelSignal& cancel) = 0;

  // Takes this node's ranks through init, all-reduce and teardown. Every node must call it with the
  // same id at about the same time: each waits for all others. The devices must be free of other
  // work of ours, else their memory figures mean little.
  virtual absl::StatusOr<ReduceAnswer> Reduce(const ReduceRequest& request, SteadyTime deadline,
                                              const CancelSignal& cancel) = 0;
};

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_REDUCER_H_
