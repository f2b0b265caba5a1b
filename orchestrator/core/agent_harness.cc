#include "orchestrator/core/agent_harness.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "orchestrator/wire/whole_message.h"

namespace autobatch {

absl::StatusOr<CheckedRecord> CheckTestRecord(absl::string_view text) {
  // {"digest": "round-3-…"}
  const std::vector<std::string> quoted = absl::StrSplit(text, '"');
  if (quoted.size() != 5) return absl::InvalidArgumentError("no record");
  CheckedRecord record{.run_id = "r", .digest = quoted[3]};
  const std::vector<std::string> parts = absl::StrSplit(record.digest, '-');
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[1], &record.round)) {
    return absl::PermissionDeniedError("the digest is not that of the content");
  }
  return record;
}

AgentConfig AgentHarness::TestConfig() {
  return {.hello = {.run_id = "r",
                    .agent = "a",
                    .incarnation = "f00d",
                    .boot_id = "boot",
                    .devices = {{.uuid = "GPU-1"}}}};
}

AgentHarness::AgentHarness(AgentConfig config) {
  EXPECT_EQ(ValidateConfig(config), absl::OkStatus());
  core = std::make_unique<AgentCore>(std::move(config), CheckTestRecord, now);
  Take(core->Start(now));
}

void AgentHarness::Give(const AgentEvent& event) { Take(core->Handle(event, now)); }

void AgentHarness::Say(Message message) {
  std::visit([](auto& m) { m.run_id = "r"; }, message);
  Give(agent::Received{std::move(message)});
}

void AgentHarness::Pass(absl::Duration duration, bool answered) {
  const SteadyTime end = Add(now, duration);
  while (core->NextWake().has_value() && *core->NextWake() <= end) {
    now = std::max(now, *core->NextWake());
    Give(agent::Woke{});
    for (const int64_t sequence : std::exchange(heartbeats_, {})) {
      if (answered) Say(HeartbeatAck{.sequence = sequence});
    }
  }
  if (!finished.has_value()) now = end;
}

void AgentHarness::BecomeMember() {
  Give(agent::Connected{});
  Say(Welcome{.heartbeat_ms = 1000, .lost_after = 5});
}

std::string AgentHarness::Digest(int64_t round) { return absl::StrCat("round-", round); }

autobatch::Prepare AgentHarness::PrepareOf(int64_t round) {
  return {.round = round,
          .digest = Digest(round),
          .record = absl::StrCat("{\"digest\": \"", Digest(round), "\"}")};
}

void AgentHarness::Probed(int64_t batch) {
  Give(agent::Probed{.devices = {{.uuid = "GPU-1", .batch = batch}}});
}

void AgentHarness::Prepare(int64_t round) {
  Say(Collect{.round = round});
  Probed();
  Say(PrepareOf(round));
  Give(agent::PreparedWritten{round, absl::OkStatus()});
}

void AgentHarness::Commit(int64_t round) {
  Prepare(round);
  Say(autobatch::Commit{.round = round, .digest = Digest(round)});
  Give(agent::CommittedWritten{round, absl::OkStatus()});
}

void AgentHarness::Take(std::vector<AgentAction> taken) {
  for (AgentAction& action : taken) {
    EXPECT_FALSE(finished.has_value()) << "an action after the end";
    if (const auto* send = std::get_if<agent::Send>(&action)) {
      const auto message = WholeMessage(*send->frame);
      ASSERT_TRUE(message.ok()) << message.status();
      EXPECT_TRUE(IsFromAgent(*message));
      if (const auto* beat = std::get_if<Heartbeat>(&*message)) {
        heartbeats_.push_back(beat->sequence);
      }
      sent.push_back(*message);
    } else if (const auto* say = std::get_if<agent::Say>(&action)) {
      absl::StrAppend(&said, say->text, "\n");
    } else if (const auto* end = std::get_if<agent::Finished>(&action)) {
      finished = *end;
    } else {
      actions.push_back(std::move(action));
    }
  }
}

}  // namespace autobatch
