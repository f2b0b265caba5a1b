// Who may come in, who lives, and whose word counts.

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "orchestrator/core/coordinator_core.h"
#include "orchestrator/core/coordinator_harness.h"
#include "orchestrator/core/exit_codes.h"
#include "orchestrator/core/misconduct.h"
#include "orchestrator/wire/message_rules.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// What the second of two hellos is answered.
Refuse SecondRefused(const AgentHello& second) {
  CoordinatorHarness run;
  const ConnectionId a = run.Join("a");
  const ConnectionId other = run.Join(second);
  EXPECT_FALSE(run.closed.contains(a)) << "the first is undisturbed";
  EXPECT_FALSE(run.Took<Refuse>(a).has_value());
  EXPECT_TRUE(run.closed.contains(other));
  EXPECT_FALSE(run.Took<Welcome>(other).has_value());
  // The first is still a member: with a real second one the round begins.
  run.Join("b");
  EXPECT_TRUE(run.Took<Collect>(a).has_value());
  return run.Took<Refuse>(other).value_or(Refuse());
}

TEST(CoordinatorCoreMemberTest, SameNameTwice_IsRefusedWithTheHoldersAddress) {
  AgentHello twin = TestHello("a");
  twin.incarnation = "a.2";
  const Refuse refuse = SecondRefused(twin);
  EXPECT_EQ(refuse.code, RefuseCode::kDuplicateAgent);
  EXPECT_THAT(refuse.reason, HasSubstr("10.0.0.1"));
  EXPECT_TRUE(refuse.closing);
}

TEST(CoordinatorCoreMemberTest, SameNodeRankTwice_IsRefusedWithTheHoldersAddress) {
  CoordinatorHarness run;
  AgentHello a = TestHello("a");
  a.node_rank = 3;
  AgentHello x = TestHello("x");
  x.node_rank = 3;
  run.Join(a);
  const ConnectionId second = run.Join(x);
  const auto refuse = run.Took<Refuse>(second);
  ASSERT_TRUE(refuse.has_value());
  EXPECT_EQ(refuse->code, RefuseCode::kDuplicateNodeRank);
  EXPECT_THAT(refuse->reason, AllOf(HasSubstr("rank 3 of x"), HasSubstr("a at 10.0.0.1")));
  // Agents of one node share its rank.
  x.boot_id = "boot-a";
  EXPECT_TRUE(run.Took<Welcome>(run.Join(x)).has_value());
}

TEST(CoordinatorCoreMemberTest, SameDeviceTwice_IsRefusedNamingBoth) {
  AgentHello thief = TestHello("x");
  thief.devices.push_back({.uuid = "GPU-a-0"});
  for (const char* boot_id : {"boot-x", "boot-a"}) {
    thief.boot_id = boot_id;
    const Refuse refuse = SecondRefused(thief);
    EXPECT_EQ(refuse.code, RefuseCode::kDuplicateDevice);
    EXPECT_THAT(refuse.reason, AllOf(HasSubstr("GPU-a-0 of x"), HasSubstr("a at 10.0.0.1")));
  }
  AgentHello own = TestHello("x");
  own.devices.push_back(own.devices[0]);
  EXPECT_THAT(SecondRefused(own).reason, HasSubstr("announces device GPU-x-0 twice"));
}

TEST(CoordinatorCoreMemberTest, OtherSettings_AreRefusedFieldByField) {
  AgentHello other = TestHello("x");
  other.config = {{.name = "optimizer", .value = "sgd"}, {.name = "NCCL_ALGO", .value = "Ring"}};
  other.config_digest = "d";
  const Refuse refuse = SecondRefused(other);
  EXPECT_EQ(refuse.code, RefuseCode::kConfig);
  EXPECT_THAT(refuse.reason, HasSubstr("optimizer: 'sgd' on x, 'adam' on a"));
  EXPECT_THAT(refuse.reason, HasSubstr("NCCL_ALGO: 'Ring' on x, absent on a"));
}

TEST(CoordinatorCoreMemberTest, OtherVersionRunOrNoDevice_IsRefused) {
  AgentHello version = TestHello("x");
  version.versions = {{.name = "autobatch", .value = "99.0.0"}};
  EXPECT_EQ(SecondRefused(version).code, RefuseCode::kVersion);
  AgentHello run_id = TestHello("x");
  run_id.run_id = "another";
  EXPECT_EQ(SecondRefused(run_id).code, RefuseCode::kRunId);
  EXPECT_EQ(SecondRefused(run_id).run_id, "r");
  AgentHello none = TestHello("x");
  none.devices.clear();
  EXPECT_EQ(SecondRefused(none).code, RefuseCode::kContradiction);
}

TEST(CoordinatorCoreMemberTest, FullTable_RefusesTheNext) {
  CoordinatorConfig config = CoordinatorHarness::TestConfig();
  config.max_members = 3;
  CoordinatorHarness run(config);
  for (const char* agent : {"a", "b", "c"}) {
    EXPECT_TRUE(run.Took<Welcome>(run.Join(agent)).has_value());
  }
  EXPECT_EQ(run.Took<Refuse>(run.Join("d"))->code, RefuseCode::kFull);
}

TEST(CoordinatorCoreMemberTest, SameIncarnation_ReplacesItsOwnConnection) {
  CoordinatorHarness run;
  const auto [a, again] = run.JoinAll("a", "a");
  EXPECT_TRUE(run.closed.contains(a));
  EXPECT_TRUE(run.Took<Welcome>(again).has_value());
  const ConnectionId b = run.Join("b");
  EXPECT_TRUE(run.Took<Collect>(again).has_value());
  run.RunRound({again, b});
  EXPECT_TRUE(run.rounds.at(0).committed);
}

TEST(CoordinatorCoreMemberTest, NewIncarnation_ReplacesOneWhoseConnectionBroke) {
  CoordinatorHarness run;
  const auto [a, b] = run.JoinAll("a", "b");
  run.RunRound({a, b});
  run.Break(a);
  AgentHello anew = TestHello("a");
  anew.incarnation = "a.2";
  const ConnectionId again = run.Join(anew);
  EXPECT_TRUE(run.Took<Welcome>(again).has_value());
  EXPECT_EQ(run.Took<Collect>(again)->round, 2);
  EXPECT_EQ(run.Took<Collect>(b)->round, 2);
}

TEST(CoordinatorCoreMemberTest, ConnectionThatComesBackInTime_IsSentWhatItMissed) {
  CoordinatorHarness run;
  const ConnectionId a = run.Join("a");
  ConnectionId b = run.Join("b");
  run.Report(a, 8);
  run.Break(b);
  b = run.Join("b");
  EXPECT_EQ(run.Took<Collect>(b)->round, 1);
  run.Report(b, 8);
  run.Took<Prepare>(b);
  run.Break(b);
  run.Prepare(a);
  b = run.Join("b");
  EXPECT_EQ(run.Took<Prepare>(b)->round, 1);
  run.Prepare(b);
  run.Took<Commit>(b);
  run.Break(b);
  AgentHello prepared = TestHello("b");
  prepared.round = 1;
  prepared.prepared_digest = run.rounds.at(0).digest;
  b = run.Join(prepared);
  EXPECT_EQ(run.Took<Commit>(b)->round, 1);
  run.Break(b);
  prepared.committed_digest = prepared.prepared_digest;
  run.Commit(a);
  b = run.Join(prepared);
  EXPECT_EQ(run.confirmed.size(), 1u);
  EXPECT_FALSE(run.Took<Collect>(b).has_value());
}

// ---- liveness

TEST(CoordinatorCoreMemberTest, SilentMember_IsLostAfterFiveBeatsAndCannotReport) {
  CoordinatorHarness run(CoordinatorHarness::TestConfig(1));
  const auto [a, b] = run.JoinAll("a", "b");
  run.Report(a, 8);
  run.Pass(absl::Seconds(4), {a});
  EXPECT_FALSE(run.closed.contains(b));
  run.Pass(absl::Seconds(2), {a});
  EXPECT_TRUE(run.closed.contains(b));
  EXPECT_EQ(run.Took<Refuse>(b)->code, RefuseCode::kStaleRound);
  // It wakes up and goes on as if nothing had happened.
  run.Report(b, 1);
  EXPECT_EQ(run.Took<Prepare>(a)->digest, "round-1-batch-8-ranks-1");
  const ConnectionId again = run.Join("b");
  EXPECT_EQ(run.Took<Refuse>(again)->code, RefuseCode::kStaleRound);
  AgentHello anew = TestHello("b");
  anew.incarnation = "b.2";
  EXPECT_TRUE(run.Took<Welcome>(run.Join(anew)).has_value());
}

TEST(CoordinatorCoreMemberTest, BeatsWithoutProgress_AreNoLife) {
  CoordinatorHarness run;
  const ConnectionId a = run.Join("a");
  run.Say(a, Heartbeat{.sequence = 7});
  for (int i = 0; i < 6; ++i) {
    run.Pass(absl::Seconds(1));
    if (!run.closed.contains(a)) run.Say(a, Heartbeat{.sequence = 7});
  }
  EXPECT_TRUE(run.closed.contains(a));
}

TEST(CoordinatorCoreMemberTest, CoordinatorThatWasStopped_TakesNobodyForDead) {
  CoordinatorHarness run;
  const auto [a, b] = run.JoinAll("a", "b");
  run.RunRound({a, b});
  run.Took<Collect>(a);
  run.Pass(absl::Seconds(2), {a, b});
  run.now = Add(run.now, absl::Seconds(60));  // SIGSTOP, SIGCONT
  run.Give(coordinator::Woke{});
  run.Pass(absl::Seconds(3), {a, b});
  EXPECT_FALSE(run.closed.contains(a));
  EXPECT_FALSE(run.Took<Collect>(a).has_value());
}

TEST(CoordinatorCoreMemberTest, Heartbeats_AreAcknowledgedByTheirNumber) {
  CoordinatorHarness run;
  const ConnectionId a = run.Join("a");
  run.Say(a, Heartbeat{.sequence = 41});
  EXPECT_EQ(run.Took<HeartbeatAck>(a)->sequence, 41);
}

// ---- whose word counts

TEST(CoordinatorCoreMemberTest, ReportsTwiceReorderedStaleOrLate_ChangeNothing) {
  CoordinatorHarness run;
  const auto [a, b] = run.JoinAll("a", "b");
  run.Report(a, 8);
  run.Report(a, 2);
  run.Say(b, Prepared{.digest = "x"});
  run.Report(b, 16);
  EXPECT_EQ(run.Took<Prepare>(a)->digest, "round-1-batch-8-ranks-2");
  run.Report(b, 1);
  run.Prepare(a);
  run.Prepare(a);
  EXPECT_FALSE(run.Took<Commit>(a).has_value()) << "one member is not two";
  run.Prepare(b);
  EXPECT_TRUE(run.Took<Commit>(a).has_value());
  run.Report(a, 1);
  run.Commit(a);
  run.Commit(a);
  EXPECT_TRUE(run.confirmed.empty());
  run.Say(b, Report{.round = 7});
  const auto refuse = run.Took<Refuse>(b);
  EXPECT_EQ(refuse->code, RefuseCode::kStaleRound);
  EXPECT_FALSE(refuse->closing);
  EXPECT_THAT(refuse->reason, HasSubstr("report of round 7; the present one is 1"));
  EXPECT_EQ(run.rounds.size(), 1u);
}

TEST(CoordinatorCoreMemberTest, MessageBeforeHello_ClosesTheConnection) {
  CoordinatorHarness run;
  run.Give(coordinator::Connected{9, "10.0.0.9:1"});
  run.Give(coordinator::Received{9, Message(Report{.run_id = "r", .round = 1})});
  EXPECT_EQ(run.Took<Refuse>(9)->code, RefuseCode::kUnexpected);
  EXPECT_TRUE(run.closed.contains(9));
}

TEST(CoordinatorCoreMemberTest, ConnectionThatBreaksBeforeItsHello_IsSaidByItsAddress) {
  CoordinatorHarness run;
  run.Give(coordinator::Connected{9, "10.0.0.9:1"});
  run.Give(coordinator::Disconnected{9, "a message of 99999 bytes"});
  EXPECT_THAT(run.said, HasSubstr("10.0.0.9:1 left before its hello: a message of 99999 bytes"));
}

TEST(CoordinatorCoreMemberTest, WhatIsNotUnderstood_IsRefusedByItsKind) {
  CoordinatorHarness run;
  const ConnectionId a = run.Join("a");
  run.Give(coordinator::Received{a, DecodeMessage(Frame{.type = 999, .payload = "{}"})});
  EXPECT_EQ(run.Took<Refuse>(a)->code, RefuseCode::kUnexpected);
  EXPECT_FALSE(run.closed.contains(a));
  Frame version = *EncodeMessage(Heartbeat{.run_id = "r"});
  version.version = 2;
  run.Give(coordinator::Received{a, DecodeMessage(version)});
  const auto refuse = run.Took<Refuse>(a);
  EXPECT_EQ(refuse->code, RefuseCode::kVersion);
  EXPECT_THAT(refuse->reason, HasSubstr("version 2, this side version 1"));
  EXPECT_TRUE(run.closed.contains(a));
  run.Give(coordinator::Connected{9, "10.0.0.9:1"});
  run.Give(coordinator::Received{9, DecodeMessage(version)});
  EXPECT_EQ(run.Took<Refuse>(9)->code, RefuseCode::kVersion);
  EXPECT_TRUE(run.closed.contains(9));
}

// Whatever it says is no message of ours.
Frame Nonsense() { return {.type = EncodeMessage(Heartbeat{.run_id = "r"})->type, .payload = "{"}; }

TEST(CoordinatorCoreMemberTest,
     BrokenProtocolOnceTooOften_OutForAWhileByNameWhateverTheIncarnation) {
  CoordinatorConfig config = CoordinatorHarness::TestConfig();
  config.max_nodes = 3;
  CoordinatorHarness run(config);
  const ConnectionId a = run.Join("a");
  const ConnectionId b = run.Join("b");
  ConnectionId c = run.Join("c");
  run.Report(a, 8);
  run.Report(b, 8);
  run.Give(coordinator::Received{c, DecodeMessage(Nonsense())});
  c = run.Join("c");
  EXPECT_TRUE(run.Took<Collect>(c).has_value()) << "once is forgiven";
  // A frame that is none counts as well, a connection that breaks does not.
  run.Give(coordinator::Disconnected{c, "not a frame", /*broke_protocol=*/true});
  c = run.Join("c");
  run.Break(c);
  c = run.Join("c");
  EXPECT_FALSE(run.Took<Prepare>(a).has_value()) << "the round waits for it";
  run.Give(coordinator::Received{c, DecodeMessage(Nonsense())});
  EXPECT_TRUE(run.Took<Prepare>(a).has_value()) << "the round goes on without it";
  EXPECT_THAT(run.said, HasSubstr("c is lost: it has broken the protocol 3 times"));
  AgentHello anew = TestHello("c");
  anew.incarnation = "c.2";
  c = run.Join(anew);
  const auto refuse = run.Took<Refuse>(c);
  EXPECT_EQ(refuse->code, RefuseCode::kFull) << "it may ask again";
  EXPECT_THAT(refuse->reason,
              HasSubstr("c has broken the protocol 3 times; it may come back in 5m"));
  EXPECT_TRUE(run.closed.contains(c));
  run.Pass(Misconduct::kTime, {a, b});
  EXPECT_TRUE(run.Took<Welcome>(run.Join(anew)).has_value());
}

TEST(CoordinatorCoreMemberTest, RoundThatNoRunHasSeen_IsRefusedAndTheRunGoesOn) {
  CoordinatorHarness run;
  AgentHello hello = TestHello("a");
  hello.round = kMaxRound;
  const ConnectionId liar = run.Join(hello);
  EXPECT_EQ(run.Took<Refuse>(liar)->code, RefuseCode::kContradiction);
  EXPECT_THAT(run.said, HasSubstr("a has seen round 9007199254740992, and the last that this run "
                                  "knows of is 0"));
  hello.round = 1'000'001;
  EXPECT_TRUE(run.Took<Refuse>(run.Join(hello)).has_value());
  run.Join("a");
  const ConnectionId b = run.Join("b");
  EXPECT_EQ(run.Took<Collect>(b)->round, 1);
}

TEST(CoordinatorCoreMemberTest,
     RoundThatOnlyTheAgentHasSeen_IsPassedByACoordinatorWithoutItsState) {
  CoordinatorHarness run;
  AgentHello hello = TestHello("a");
  hello.round = 1'000'000;
  run.Join(hello);
  const ConnectionId b = run.Join("b");
  EXPECT_EQ(run.Took<Collect>(b)->round, 1'000'001);
}

TEST(CoordinatorCoreMemberTest, MemberThatPlaysCoordinator_IsRefused) {
  CoordinatorHarness run;
  const ConnectionId a = run.Join("a");
  run.Say(a, Commit{.round = 1, .digest = "x"});
  EXPECT_EQ(run.Took<Refuse>(a)->code, RefuseCode::kUnexpected);
  run.Say(a, TestHello("c"));
  EXPECT_EQ(run.Took<Refuse>(a)->code, RefuseCode::kUnexpected);
  run.Give(coordinator::Received{a, Message(Heartbeat{.run_id = "another"})});
  EXPECT_EQ(run.Took<Refuse>(a)->code, RefuseCode::kRunId);
}

TEST(CoordinatorCoreMemberTest, ReportOfForeignDevices_LosesTheMember) {
  CoordinatorHarness run;
  const ConnectionId a = run.Join("a");
  run.Join("b");
  run.Say(a, Report{.devices = {{.uuid = "GPU-b-0", .batch = 8}}});
  EXPECT_TRUE(run.closed.contains(a));
  EXPECT_THAT(run.said, HasSubstr("GPU-b-0 twice, or never announced it"));
}

TEST(CoordinatorCoreMemberTest, OtherDigestPreparedOrCommitted_LosesTheMember) {
  CoordinatorHarness run;
  const auto [a, b] = run.JoinAll("a", "b");
  run.Report({a, b}, 8);
  run.Say(b, Prepared{.digest = "forged"});
  EXPECT_TRUE(run.closed.contains(b));
  EXPECT_TRUE(run.Took<Abort>(a).has_value());
  EXPECT_FALSE(run.Took<Commit>(a).has_value());
}

TEST(CoordinatorCoreMemberTest, ProgressLine_TellsAgentsFromNodes) {
  CoordinatorHarness run;
  AgentHello neighbour = TestHello("b");
  neighbour.boot_id = "boot-a";
  const ConnectionId a = run.Join("a");
  const ConnectionId b = run.Join(neighbour);
  run.Pass(absl::Seconds(5), {a, b});
  EXPECT_THAT(run.Took<Progress>(a)->text,
              AllOf(HasSubstr("1 of at least 2; 2 agents are on 1 node"), HasSubstr("--node-id")));
}

TEST(CoordinatorCoreMemberTest, ProgressLine_SaysHaveNeedAndMissing) {
  CoordinatorConfig config = CoordinatorHarness::TestConfig();
  config.expected = {"a", "b"};
  CoordinatorHarness run(config);
  const ConnectionId a = run.Join("a");
  run.Pass(absl::Seconds(6), {a});
  const auto progress = run.Took<Progress>(a);
  ASSERT_TRUE(progress.has_value());
  EXPECT_EQ(progress->have, 1);
  EXPECT_EQ(progress->need, 2);
  EXPECT_THAT(progress->missing, testing::ElementsAre("b"));
  const ConnectionId b = run.Join("b");
  run.Report(a, 8);
  run.Pass(absl::Seconds(6), {a, b});
  EXPECT_THAT(run.Took<Progress>(a)->text, HasSubstr("reports: 1 of 2"));
}

}  // namespace
}  // namespace autobatch
