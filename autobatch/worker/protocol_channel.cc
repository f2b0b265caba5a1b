#include "autobatch/worker/protocol_channel.h"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/inherited_descriptor.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/json.h"

namespace autobatch {
absl::StatusOr<ProtocolChannel> ProtocolChannel::FromEnvironment() {
  AB_ASSIGN_OR_RETURN(const int request_fd, InheritedDescriptor(kRequestFdVariable));
  AB_ASSIGN_OR_RETURN(const int report_fd, InheritedDescriptor(kReportFdVariable));
  return ProtocolChannel(request_fd, report_fd);
}

absl::StatusOr<std::optional<Request>> ProtocolChannel::Receive() {
  std::size_t searched = 0;
  while (true) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      const std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      AB_ASSIGN_OR_RETURN(Request request, FromJson<Request>(line));
      return request;
    }
    searched = buffer_.size();
    if (buffer_.size() > static_cast<std::size_t>(kMaxProtocolLine)) {
      return absl::ResourceExhaustedError("a request of too many bytes");
    }
    char chunk[4096];
    const ssize_t got = read(request_fd_, chunk, sizeof(chunk));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return absl::UnavailableError(absl::StrCat("cannot read requests: ", std::strerror(errno)));
    }
    if (got == 0) return std::nullopt;
    buffer_.append(chunk, static_cast<std::size_t>(got));
  }
}

absl::Status ProtocolChannel::Send(const Reply& reply) {
  const std::string line = ToJson(reply) + "\n";
  absl::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t put = write(report_fd_, rest.data(), rest.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      return absl::UnavailableError(absl::StrCat("cannot report: ", std::strerror(errno)));
    }
    rest.remove_prefix(static_cast<std::size_t>(put));
  }
  return absl::OkStatus();
}

}  // namespace autobatch
