// The agent's connection and its loss.

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "orchestrator/core/agent_core.h"
#include "orchestrator/core/agent_harness.h"
#include "orchestrator/core/exit_codes.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

absl::Duration Elapsed(const AgentHarness& a) { return Between(SteadyTime(), a.now); }

// Tries to connect until the agent gives up; how long that took.
absl::Duration TimeUntilItGivesUp(AgentHarness& a, absl::Duration limit) {
  const SteadyTime start = a.now;
  while (!a.finished.has_value() && Between(start, a.now) < limit) {
    if (const auto connect = a.Wanted<agent::Connect>()) {
      a.Pass(connect->delay);
      if (a.finished.has_value()) break;
      a.Give(agent::ConnectFailed{absl::UnavailableError("connection refused")});
    } else {
      a.Pass(absl::Milliseconds(50));
    }
  }
  return Between(start, a.now);
}

TEST(AgentCoreLinkTest, NoCoordinator_EndsAfterTheJoinTimeout) {
  AgentConfig config = AgentHarness::TestConfig();
  config.join_timeout = absl::Seconds(60);
  AgentHarness a(config);
  EXPECT_NEAR(absl::ToDoubleSeconds(TimeUntilItGivesUp(a, absl::Hours(1))), 60, 4);
  EXPECT_EQ(a.finished->exit_code, kExitPeerLost);
  EXPECT_THAT(a.finished->text, HasSubstr("within 1m: connection refused"));
  EXPECT_THAT(a.said, HasSubstr("no coordinator yet, trying again: connection refused"));
}

TEST(AgentCoreLinkTest, Refusal_EndsAtOnce) {
  AgentHarness a;
  a.Give(agent::ConnectFailed{absl::PermissionDeniedError("wrong secret")});
  EXPECT_EQ(a.finished->exit_code, kExitNotAuthorised);
  EXPECT_THAT(a.finished->text, HasSubstr("wrong secret"));
}

TEST(AgentCoreLinkTest, SilenceAfterHello_IsTriedAgain) {
  AgentHarness a;
  a.Give(agent::Connected{});
  a.Wanted<agent::Connect>();
  a.Pass(absl::Seconds(11));
  EXPECT_TRUE(a.Wanted<agent::Disconnect>().has_value());
  EXPECT_TRUE(a.Wanted<agent::Connect>().has_value());
}

TEST(AgentCoreLinkTest, CoordinatorKilledBeforeACommit_IsLostWithinSevenSeconds) {
  AgentHarness a;
  a.BecomeMember();
  a.Prepare(1);
  a.Pass(absl::Seconds(3), /*answered=*/true);
  a.actions.clear();
  a.Give(agent::Disconnected{"reset by peer"});
  EXPECT_LE(TimeUntilItGivesUp(a, absl::Hours(1)), absl::Seconds(7));
  EXPECT_EQ(a.finished->exit_code, kExitPeerLost);
  EXPECT_TRUE(a.Wanted<agent::WithdrawRecord>().has_value()) << "nothing may start on it";
}

TEST(AgentCoreLinkTest, CoordinatorThatStopsAnswering_IsLostByOurOwnClock) {
  AgentHarness a;
  a.BecomeMember();
  a.Pass(absl::Seconds(10), /*answered=*/true);
  EXPECT_FALSE(a.finished.has_value());
  a.actions.clear();
  const SteadyTime stopped = a.now;
  a.Pass(absl::Seconds(6));
  EXPECT_TRUE(a.Wanted<agent::Disconnect>().has_value());
  TimeUntilItGivesUp(a, absl::Hours(1));
  EXPECT_LE(Between(stopped, a.now), absl::Seconds(7));
  EXPECT_EQ(a.finished->exit_code, kExitPeerLost);
}

TEST(AgentCoreLinkTest, AcknowledgementsOfOldBeats_AreNoSignOfLife) {
  AgentHarness a;
  a.BecomeMember();
  a.Pass(absl::Seconds(3), /*answered=*/true);
  a.actions.clear();
  for (int i = 0; i < 8; ++i) {
    a.Pass(absl::Seconds(1));
    if (!a.Wanted<agent::Disconnect>().has_value()) {
      a.Say(HeartbeatAck{.sequence = 1});
      a.Say(HeartbeatAck{.sequence = 1'000'000});
    } else {
      return;
    }
  }
  FAIL() << "the coordinator is thought to be alive";
}

TEST(AgentCoreLinkTest, CoordinatorThatComesBack_FindsTheSameAgent) {
  AgentHarness a;
  a.BecomeMember();
  a.Prepare(5);
  a.sent.clear();
  a.Give(agent::Disconnected{"reset by peer"});
  a.Pass(absl::Seconds(2));
  a.Give(agent::Connected{});
  const auto hello = a.Sent<AgentHello>();
  EXPECT_EQ(hello->incarnation, "f00d.0");
  EXPECT_EQ(hello->round, 5);
  EXPECT_EQ(hello->prepared_digest, "round-5");
  EXPECT_EQ(hello->committed_digest, "");
  a.Say(Welcome{.round = 5});
  a.Say(Commit{.round = 5, .digest = "round-5"});
  EXPECT_TRUE(a.Wanted<agent::WriteCommitted>().has_value());
}

TEST(AgentCoreLinkTest, CommittedRecord_OutlastsTheCoordinatorForTenMinutes) {
  AgentHarness a;
  a.BecomeMember();
  a.Commit(1);
  a.actions.clear();
  a.Give(agent::Disconnected{"reset by peer"});
  EXPECT_NEAR(absl::ToDoubleSeconds(TimeUntilItGivesUp(a, absl::Hours(1))), 600, 5);
  EXPECT_EQ(a.finished->exit_code, kExitPeerLost);
  EXPECT_THAT(a.finished->text, HasSubstr("what trains on the record of round 1 goes on"));
  // What trains goes on, and nothing starts on it any more: perhaps others have agreed anew.
  EXPECT_TRUE(a.Wanted<agent::WithdrawRecord>().has_value());
  EXPECT_FALSE(a.Wanted<agent::StopTraining>().has_value());
}

TEST(AgentCoreLinkTest, Lease_EndsUnlessTheCoordinatorAnswers) {
  AgentHarness a;
  a.BecomeMember();
  EXPECT_FALSE(a.core->MayStart(a.now)) << "there is no record";
  a.Prepare(1);
  EXPECT_FALSE(a.core->MayStart(a.now)) << "it is not committed";
  a.Commit(2);
  EXPECT_TRUE(a.core->MayStart(a.now));
  a.Pass(absl::Seconds(60), /*answered=*/true);
  EXPECT_TRUE(a.core->MayStart(a.now));
  EXPECT_FALSE(a.core->MayStart(Add(a.now, absl::Seconds(3)))) << "it was stopped, and asked first";
  const SteadyTime answered = a.now;
  a.Pass(absl::Milliseconds(1999));
  EXPECT_TRUE(a.core->MayStart(a.now));
  a.Pass(absl::Milliseconds(1));
  EXPECT_FALSE(a.core->MayStart(a.now));
  // An answer to what was asked long ago says nothing of now.
  a.Say(HeartbeatAck{.sequence = 61});
  EXPECT_EQ(Between(answered, a.now), absl::Seconds(2));
  EXPECT_TRUE(a.core->MayStart(a.now)) << "asked a second ago";
  a.Give(agent::Disconnected{"reset by peer"});
  EXPECT_FALSE(a.core->MayStart(a.now));
  a.Give(agent::Connected{});
  EXPECT_FALSE(a.core->MayStart(a.now));
  a.Say(Welcome{.round = 2, .standing_digest = "round-2"});
  EXPECT_TRUE(a.core->MayStart(a.now));
  a.Say(Collect{.round = 3});
  EXPECT_TRUE(a.core->MayStart(a.now)) << "the old record stands until the next is prepared";
  a.Say(AgentHarness::PrepareOf(3));
  EXPECT_FALSE(a.core->MayStart(a.now));
}

TEST(AgentCoreLinkTest, RecordThatDoesNotStandAnyMore_IsDropped) {
  for (const bool written : {true, false}) {
    AgentHarness a;
    a.BecomeMember();
    a.Prepare(1);
    a.Say(Commit{.round = 1, .digest = "round-1"});
    if (written) a.Give(agent::CommittedWritten{1, absl::OkStatus()});
    a.Give(agent::Disconnected{"reset by peer"});
    a.Give(agent::Connected{});
    a.actions.clear();
    a.Say(Welcome{.round = 7});
    EXPECT_TRUE(a.Wanted<agent::StopTraining>().has_value());
    EXPECT_TRUE(a.Wanted<agent::WithdrawRecord>().has_value());
    if (!written) a.Give(agent::CommittedWritten{1, absl::OkStatus()});
    EXPECT_FALSE(a.core->MayStart(a.now));
    EXPECT_FALSE(a.finished.has_value());
  }
}

TEST(AgentCoreLinkTest, AgentThatWasStopped_DoesNotTakeTheCoordinatorForDead) {
  AgentHarness a;
  a.BecomeMember();
  a.Pass(absl::Seconds(3), /*answered=*/true);
  a.actions.clear();
  a.now = Add(a.now, absl::Seconds(60));  // SIGSTOP, SIGCONT
  a.Give(agent::Disconnected{"reset by peer"});
  EXPECT_TRUE(a.Wanted<agent::Connect>().has_value());
  a.Pass(absl::Seconds(1));
  EXPECT_FALSE(a.finished.has_value());
}

TEST(AgentCoreLinkTest, AgentThatWasGivenUp_JoinsAnewAndTrainsNoMore) {
  AgentHarness a;
  a.BecomeMember();
  a.Commit(1);
  a.actions.clear();
  a.sent.clear();
  a.Say(Refuse{.round = 2, .code = RefuseCode::kStaleRound, .reason = "stale", .closing = true});
  ASSERT_GE(a.actions.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<agent::StopTraining>(a.actions[0]));
  EXPECT_TRUE(std::holds_alternative<agent::WithdrawRecord>(a.actions[1]));
  EXPECT_TRUE(a.Wanted<agent::Connect>().has_value());
  a.Give(agent::Connected{});
  const auto hello = a.Sent<AgentHello>();
  EXPECT_EQ(hello->incarnation, "f00d.1");
  EXPECT_EQ(hello->committed_digest, "");
  EXPECT_EQ(hello->prepared_digest, "");
}

TEST(AgentCoreLinkTest, RefusedMessage_IsNoReasonToLeave) {
  AgentHarness a;
  a.BecomeMember();
  a.Say(Refuse{.round = 2, .code = RefuseCode::kStaleRound, .reason = "stale round: report"});
  EXPECT_FALSE(a.finished.has_value());
  EXPECT_FALSE(a.Wanted<agent::Disconnect>().has_value());
}

TEST(AgentCoreLinkTest, EveryRefusal_HasItsConsequence) {
  const struct {
    RefuseCode code;
    std::optional<int> exit_code;  // absent: tried again
  } kCases[] = {
      {RefuseCode::kStaleRound, std::nullopt},
      {RefuseCode::kRunId, kExitNotAuthorised},
      {RefuseCode::kDuplicateAgent, std::nullopt},
      {RefuseCode::kDuplicateNodeRank, std::nullopt},
      {RefuseCode::kDuplicateDevice, std::nullopt},
      {RefuseCode::kConfig, kExitNoAgreement},
      {RefuseCode::kVersion, kExitNoAgreement},
      {RefuseCode::kContradiction, kExitNoAgreement},
      {RefuseCode::kFull, std::nullopt},
      {RefuseCode::kClosing, kExitPeerLost},
      {RefuseCode::kUnexpected, kExitInternal},
      {RefuseCode::kInvalid, kExitInternal},
  };
  for (const auto& c : kCases) {
    AgentHarness a;
    a.Give(agent::Connected{});
    a.Say(Refuse{.code = c.code, .reason = "because", .closing = true});
    EXPECT_EQ(a.finished.has_value(), c.exit_code.has_value()) << static_cast<int>(c.code);
    if (c.exit_code.has_value() && a.finished.has_value()) {
      EXPECT_EQ(a.finished->exit_code, *c.exit_code);
      EXPECT_EQ(a.finished->text, "because");
    }
  }
}

TEST(AgentCoreLinkTest, NameThatStaysTaken_EndsTheSecondAgent) {
  AgentHarness a;
  while (!a.finished.has_value() && Elapsed(a) < absl::Hours(1)) {
    a.Pass(absl::Seconds(1));
    a.Give(agent::Connected{});
    a.Say(Refuse{
        .code = RefuseCode::kDuplicateAgent, .reason = "taken by a at 10.0.0.1", .closing = true});
  }
  EXPECT_EQ(a.finished->exit_code, kExitNoAgreement);
  EXPECT_NEAR(absl::ToDoubleSeconds(Elapsed(a)), 8, 2);
  EXPECT_THAT(a.finished->text, HasSubstr("10.0.0.1"));
}

TEST(AgentCoreLinkTest, CoordinatorOfAnotherRun_IsNotJoined) {
  AgentHarness a;
  a.Give(agent::Connected{});
  a.Give(agent::Received{Message(Welcome{.run_id = "other"})});
  EXPECT_EQ(a.finished->exit_code, kExitNotAuthorised);
  EXPECT_THAT(a.finished->text, HasSubstr("run other"));
}

TEST(AgentCoreLinkTest, PeerThatIsNoCoordinator_IsLeft) {
  AgentHarness a;
  a.BecomeMember();
  a.Say(Leave{.reason = "I am an agent too"});
  EXPECT_TRUE(a.Wanted<agent::Disconnect>().has_value());
}

TEST(AgentCoreLinkTest, OtherProtocolVersion_EndsNamingBoth) {
  AgentHarness a;
  a.Give(agent::Connected{});
  Frame frame = *EncodeMessage(Welcome{.run_id = "r"});
  frame.version = 9;
  a.Give(agent::Received{DecodeMessage(frame)});
  EXPECT_EQ(a.finished->exit_code, kExitNoAgreement);
  EXPECT_THAT(a.finished->text, HasSubstr("version 9"));
}

TEST(AgentCoreLinkTest, UnknownMessage_IsSkipped) {
  AgentHarness a;
  a.BecomeMember();
  a.Give(agent::Received{DecodeMessage(Frame{.type = 999, .payload = "{}"})});
  EXPECT_FALSE(a.finished.has_value());
  EXPECT_FALSE(a.Wanted<agent::Disconnect>().has_value());
}

}  // namespace
}  // namespace autobatch
