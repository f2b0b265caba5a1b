#ifndef AUTOBATCH_NCCL_REDUCE_REPLIES_H_
#define AUTOBATCH_NCCL_REDUCE_REPLIES_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/trial/line_reader.h"
#include "orchestrator/nccl/reduce_protocol.h"

namespace autobatch {

// What the reduce program says, in any pieces -> its replies. The program loads the user's NCCL and
// driver into itself: what it says is checked like anybody's.
//
//   replies.Append(bytes);
//   AB_ASSIGN_OR_RETURN(std::optional<ReduceReply> reply, replies.Next());
class ReduceReplies {
 public:
  void Append(absl::string_view bytes) { lines_.Append(bytes); }

  // The next reply that is an id or an answer; absent while more bytes are needed. A failure of the
  // child is its Status, what is no reply InvalidArgument, too long a line OutOfRange.
  absl::StatusOr<std::optional<ReduceReply>> Next();

  // Where it is, as far as it said.
  const std::optional<ReducePhase>& phase() const { return phase_; }

 private:
  LineReader lines_{kMostReduceLine};
  std::optional<ReducePhase> phase_;
};

// InvalidArgument: a reply without what its type stands for, an id that is none, numbers that no
// reduction has.
absl::Status CheckReduceReply(const ReduceReply& reply);

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_REDUCE_REPLIES_H_
