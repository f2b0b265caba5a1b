#include "orchestrator/nccl/reduce_replies.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/enum_names.h"
#include "autobatch/types/json.h"
#include "orchestrator/nccl/unique_id.h"

namespace autobatch {
namespace {

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the NCCL child's reply: ", what));
}

absl::Status CheckAnswer(const ReduceAnswer& answer) {
  if (answer.minimum < 0) return Wrong(absl::StrCat("minimum ", answer.minimum));
  if (std::ssize(answer.devices) > kMostReduceDevices) {
    return Wrong(absl::StrCat(answer.devices.size(), " devices"));
  }
  for (const ReducedDevice& device : answer.devices) {
    if (device.rank < 0 || device.rank >= kMostReduceRanks) {
      return Wrong(absl::StrCat("rank ", device.rank));
    }
    if (device.communicator_bytes.value_or(0) < 0) {
      return Wrong(absl::StrCat("communicator_bytes ", *device.communicator_bytes));
    }
  }
  for (const double time : {answer.init_ms, answer.reduce_ms}) {
    if (!std::isfinite(time) || time < 0) return Wrong(absl::StrCat("a time of ", time, " ms"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckReduceReply(const ReduceReply& reply) {
  const bool whole = reply.type == ReduceReplyType::kPhase      ? reply.phase.has_value()
                     : reply.type == ReduceReplyType::kUniqueId ? reply.unique_id.has_value()
                     : reply.type == ReduceReplyType::kAnswer   ? reply.answer.has_value()
                                                                : reply.failure.has_value();
  if (!whole) return Wrong(absl::StrCat("of type ", EnumName(reply.type), ", with nothing of it"));
  // What is beside it is no better for being there.
  if (reply.unique_id.has_value()) {
    AB_RETURN_IF_ERROR(UniqueIdFromHex(*reply.unique_id).status());
  }
  return reply.answer.has_value() ? CheckAnswer(*reply.answer) : absl::OkStatus();
}

absl::StatusOr<std::optional<ReduceReply>> ReduceReplies::Next() {
  while (true) {
    AB_ASSIGN_OR_RETURN(const std::optional<std::string> line, lines_.Next());
    if (!line.has_value()) return std::nullopt;
    AB_ASSIGN_OR_RETURN(ReduceReply reply, FromJson<ReduceReply>(*line));
    AB_RETURN_IF_ERROR(CheckReduceReply(reply));
    if (reply.type == ReduceReplyType::kFailure) return ToStatus(*reply.failure);
    if (reply.type != ReduceReplyType::kPhase) return reply;
    phase_ = reply.phase;
  }
}

}  // namespace autobatch
