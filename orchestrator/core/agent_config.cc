#include "orchestrator/core/agent_config.h"

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
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
  AB_RETURN_IF_ERROR(Validate(config.hello));
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
