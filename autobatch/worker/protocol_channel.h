#ifndef AUTOBATCH_WORKER_PROTOCOL_CHANNEL_H_
#define AUTOBATCH_WORKER_PROTOCOL_CHANNEL_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "autobatch/types/protocol.h"

namespace autobatch {

// The child's end of the trial protocol: one JSON object a line on two descriptors. Blocking; one
// thread. Does not close the descriptors.
class ProtocolChannel {
 public:
  ProtocolChannel(int request_fd, int report_fd) : request_fd_(request_fd), report_fd_(report_fd) {}

  // The descriptors that the parent named in the environment. FailedPrecondition when it named
  // none.
  static absl::StatusOr<ProtocolChannel> FromEnvironment();

  // The next request; absent at the end of the file. InvalidArgument for a line that is no request,
  // ResourceExhausted for one longer than kMaxProtocolLine, Unavailable when reading fails.
  absl::StatusOr<std::optional<Request>> Receive();

  // Unavailable when the parent is gone. (Ignore SIGPIPE, or it ends the process.)
  absl::Status Send(const Reply& reply);

 private:
  int request_fd_;
  int report_fd_;
  std::string buffer_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_PROTOCOL_CHANNEL_H_
