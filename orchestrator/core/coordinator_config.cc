#include "orchestrator/core/coordinator_config.h"

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/wire/message_rules.h"

namespace autobatch {
namespace {

absl::Status Number(absl::string_view field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, " is not within ", low, " to ", high));
}

absl::Status Positive(absl::string_view field, absl::Duration value) {
  if (value > absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", absl::FormatDuration(value), " is not above zero"));
}

}  // namespace

absl::Status ValidateConfig(const CoordinatorConfig& config) {
  // Its own name goes out in every message, which have the same rule.
  if (const absl::Status status = Validate(Heartbeat{.run_id = config.run_id}); !status.ok()) {
    return status;
  }
  AB_RETURN_IF_ERROR(Number("min_nodes", config.min_nodes, 1, kMaxWorld));
  AB_RETURN_IF_ERROR(Number("max_nodes", config.max_nodes, config.min_nodes, kMaxWorld));
  AB_RETURN_IF_ERROR(Number("max_members", config.max_members, config.max_nodes, kMaxWorld));
  AB_RETURN_IF_ERROR(Number("lost_after", config.lost_after, 2, 1'000'000));
  AB_RETURN_IF_ERROR(Number("reconnect_grace", config.reconnect_grace, 2, config.lost_after));
  AB_RETURN_IF_ERROR(Number("reduce_attempts", config.reduce_attempts, 1, 1000));
  if (config.heartbeat < absl::Milliseconds(1) || config.heartbeat > absl::Hours(1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "heartbeat: ", absl::FormatDuration(config.heartbeat), " is not within 1ms to 1h"));
  }
  AB_RETURN_IF_ERROR(Positive("join_timeout", config.join_timeout));
  if (config.last_call < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("last_call: is below zero");
  }
  AB_RETURN_IF_ERROR(Positive("report_timeout", config.report_timeout));
  AB_RETURN_IF_ERROR(Positive("reduce_timeout", config.reduce_timeout));
  return Positive("commit_timeout", config.commit_timeout);
}

}  // namespace autobatch
