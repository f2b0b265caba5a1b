#include "orchestrator/core/agent_config.h"

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/wire/frame.h"
#include "orchestrator/wire/message_rules.h"

namespace autobatch {
namespace {

absl::Status Positive(absl::string_view field, absl::Duration value) {
  if (value > absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", absl::FormatDuration(value), " is not above zero"));
}

}  // namespace

absl::Status ValidateConfig(const AgentConfig& config) {
  AgentHello hello = config.hello;
  hello.incarnation += ".2147483647";  // the counter
  AB_ASSIGN_OR_RETURN(const Frame frame, EncodeMessage(hello));
  // Round and digests come on top.
  if (frame.payload.size() + 3 * kMaxName > kStrangerPayloadLimit) {
    return absl::InvalidArgumentError(absl::StrCat("hello: ", frame.payload.size(), " bytes; ",
                                                   kStrangerPayloadLimit,
                                                   " may be sent before one is let in"));
  }
  AB_RETURN_IF_ERROR(Positive("join_timeout", config.join_timeout));
  AB_RETURN_IF_ERROR(Positive("hello_timeout", config.hello_timeout));
  AB_RETURN_IF_ERROR(Positive("lost_timeout", config.lost_timeout));
  AB_RETURN_IF_ERROR(Positive("rejoin_timeout", config.rejoin_timeout));
  AB_RETURN_IF_ERROR(Positive("duplicate_patience", config.duplicate_patience));
  AB_RETURN_IF_ERROR(Positive("first_backoff", config.first_backoff));
  if (config.last_backoff < config.first_backoff) {
    return absl::InvalidArgumentError("last_backoff: is below first_backoff");
  }
  return absl::OkStatus();
}

}  // namespace autobatch
