#include "orchestrator/nccl/reduce_channel.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"
#include "autobatch/base/inherited_descriptor.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/json.h"
#include "autobatch/types/protocol.h"

namespace autobatch {
absl::StatusOr<ReduceChannel> ReduceChannel::FromEnvironment() {
  AB_ASSIGN_OR_RETURN(const int request_fd, InheritedDescriptor(kRequestFdVariable));
  AB_ASSIGN_OR_RETURN(const int report_fd, InheritedDescriptor(kReportFdVariable));
  return ReduceChannel(request_fd, report_fd);
}

absl::StatusOr<ReduceCommand> ReduceChannel::Receive() {
  while (true) {
    AB_ASSIGN_OR_RETURN(const std::optional<std::string> line, lines_.Next());
    if (line.has_value()) return FromJson<ReduceCommand>(*line);
    char chunk[4096];
    const ssize_t got = read(request_fd_, chunk, sizeof(chunk));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::CancelledError(absl::StrCat("no command: ", std::strerror(errno)));
    if (got == 0) return absl::CancelledError("no command");
    lines_.Append(absl::string_view(chunk, static_cast<size_t>(got)));
  }
}

absl::Status ReduceChannel::Send(const ReduceReply& reply) {
  return WriteAll(report_fd_, ToJson(reply) + "\n", "the report to the parent");
}

bool ReduceChannel::WaitForClose(absl::Duration at_most) {
  pollfd descriptor = {request_fd_, POLLIN, 0};
  const timespec timeout = absl::ToTimespec(std::min(at_most, absl::Hours(1)));
  if (ppoll(&descriptor, 1, &timeout, nullptr) <= 0) return false;
  // Nothing follows the command: what can be read is the end.
  char ignored[256];
  return read(request_fd_, ignored, sizeof(ignored)) <= 0;
}

}  // namespace autobatch
