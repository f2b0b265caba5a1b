#include "autobatch/trial/trial_transcript.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/json.h"

namespace autobatch {
namespace {

// Enough of a wrong line to recognise it.
std::string Excerpt(const std::string& line) {
  constexpr size_t kMost = 80;
  return absl::StrCat("\"", absl::CHexEscape(line.substr(0, kMost)),
                      line.size() > kMost ? "..." : "", "\"");
}

absl::StatusOr<Reply> ReadReply(const std::string& line) {
  absl::StatusOr<Reply> reply = FromJson<Reply>(line);
  if (!reply.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(reply.status().message(), ", in ", Excerpt(line)));
  }
  return reply;
}

}  // namespace

absl::Status ReadReplies(LineReader& lines, absl::string_view bytes,
                         absl::FunctionRef<absl::Status(const Reply&)> take,
                         const ProgressFunction& progress) {
  lines.Append(bytes);
  while (true) {
    AB_ASSIGN_OR_RETURN(const std::optional<std::string> line, lines.Next());
    if (!line.has_value()) return absl::OkStatus();
    AB_ASSIGN_OR_RETURN(const Reply reply, ReadReply(*line));
    AB_RETURN_IF_ERROR(take(reply));
    const bool told = reply.type == ReplyType::kPhase || reply.type == ReplyType::kStep;
    if (told && progress) progress(reply);
  }
}

absl::Status TrialTranscript::Append(absl::string_view bytes, const ProgressFunction& progress) {
  return ReadReplies(lines_, bytes, [this](const Reply& reply) { return Take(reply); }, progress);
}

absl::Status TrialTranscript::Take(const Reply& reply) {
  if (result_.has_value()) return absl::InvalidArgumentError("it spoke on after its result");
  switch (reply.type) {
    case ReplyType::kHello:
      if (!reply.hello.has_value()) return absl::InvalidArgumentError("an empty hello");
      if (hello_.has_value()) return absl::InvalidArgumentError("a second hello");
      if (reply.hello->protocol != kProtocolVersion) {
        return absl::InvalidArgumentError(absl::StrCat("it speaks version ", reply.hello->protocol,
                                                       ", we speak version ", kProtocolVersion));
      }
      if (const auto& uuid = reply.hello->device_uuid;
          uuid.has_value() && !device_uuid_.empty() &&
          !absl::EqualsIgnoreCase(*uuid, device_uuid_)) {
        return absl::InvalidArgumentError(
            absl::StrCat("it runs on ", *uuid, " instead of ", device_uuid_));
      }
      hello_ = reply.hello;
      return absl::OkStatus();
    case ReplyType::kPhase:
      if (!reply.phase.has_value()) return absl::InvalidArgumentError("an empty phase");
      phase_ = reply.phase;
      return absl::OkStatus();
    case ReplyType::kStep: {
      if (!reply.step.has_value()) return absl::InvalidArgumentError("an empty step");
      if (!hello_.has_value()) return absl::InvalidArgumentError("a step before its hello");
      const auto next = static_cast<int64_t>(steps_.size()) + 1;
      const int64_t most = std::max(asked_.steps, asked_.most_steps);
      if (reply.step->step != next || next > most) {
        return absl::InvalidArgumentError(absl::StrCat("it reports step ", reply.step->step,
                                                       " where step ", next, " of ", most,
                                                       " would come"));
      }
      steps_.push_back(*reply.step);
      return absl::OkStatus();
    }
    case ReplyType::kResult:
      if (!reply.result.has_value()) return absl::InvalidArgumentError("an empty result");
      if (!hello_.has_value() && reply.result->ok()) {
        return absl::InvalidArgumentError("a good result before its hello");
      }
      result_ = reply.result;
      if (result_->steps.size() < steps_.size()) result_->steps = steps_;
      return absl::OkStatus();
  }
  return absl::InvalidArgumentError("an unknown reply");
}

}  // namespace autobatch
