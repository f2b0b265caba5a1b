#ifndef AUTOBATCH_NCCL_REDUCE_CHANNEL_H_
#define AUTOBATCH_NCCL_REDUCE_CHANNEL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "autobatch/trial/line_reader.h"
#include "orchestrator/nccl/reduce_protocol.h"

namespace autobatch {

// The child's side of reduce_protocol.h.
class ReduceChannel {
 public:
  // On the descriptors that the environment names; FailedPrecondition when it names none: somebody
  // started the program by hand.
  static absl::StatusOr<ReduceChannel> FromEnvironment();

  ReduceChannel(int request_fd, int report_fd)
      : request_fd_(request_fd), report_fd_(report_fd), lines_(kMostReduceLine) {}

  // Waits for the one command. Cancelled when the parent is gone first.
  absl::StatusOr<ReduceCommand> Receive();

  // Unavailable when nobody reads any more.
  absl::Status Send(const ReduceReply& reply);

  // Waits for the parent to close its end, at most so long; true once it has. The wait of the whole
  // program: a parent that gives up is heard at once.
  bool WaitForClose(absl::Duration at_most);

 private:
  const int request_fd_;
  const int report_fd_;
  LineReader lines_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_REDUCE_CHANNEL_H_
