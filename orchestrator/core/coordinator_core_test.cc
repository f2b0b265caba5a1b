#include "orchestrator/core/coordinator_core.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "orchestrator/core/coordinator_harness.h"
#include "orchestrator/core/exit_codes.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CoordinatorCoreTest, TwoNodes_AgreeAndCommit) {
  CoordinatorHarness run;
  const ConnectionId a = run.Join("a", 2);
  EXPECT_TRUE(run.Took<Welcome>(a).has_value());
  EXPECT_EQ(run.Took<Collect>(a)->round, 1) << "nobody trains that a probe could disturb";
  EXPECT_THAT(run.said, Not(HasSubstr("begins")));
  const ConnectionId b = run.Join("b");
  EXPECT_THAT(run.said, HasSubstr("round 1 begins: 2 nodes"));
  EXPECT_FALSE(run.Took<Collect>(a).has_value()) << "once is enough";
  EXPECT_EQ(run.Took<Collect>(b)->round, 1);
  run.Report(a, 48);
  run.Report(b, 32);
  const auto prepare = run.Took<Prepare>(a);
  ASSERT_TRUE(prepare.has_value());
  EXPECT_EQ(prepare->digest, "round-1-batch-32-ranks-3");
  run.Prepare(a);
  EXPECT_FALSE(run.Took<Commit>(a).has_value()) << "b has not prepared yet";
  run.Prepare(b);
  EXPECT_EQ(run.Took<Commit>(a)->digest, prepare->digest);
  EXPECT_EQ(run.Took<Commit>(b)->digest, prepare->digest);
  ASSERT_EQ(run.rounds.size(), 1u);
  EXPECT_TRUE(run.rounds[0].committed);
  EXPECT_EQ(*run.rounds[0].record, prepare->record);
  EXPECT_EQ(run.rounds[0].nodes.size(), 2u);
  EXPECT_TRUE(run.confirmed.empty());
  run.Commit({a, b});
  ASSERT_EQ(run.confirmed.size(), 1u);
  EXPECT_THAT(run.confirmed[0].confirmed, ElementsAre("a", "b"));
  EXPECT_FALSE(run.finished.has_value());
  EXPECT_THAT(run.said, HasSubstr("batch 32, set by GPU-b-0 of b"));
}

// ---- who is waited for, and for how long

TEST(CoordinatorCoreTest, ReportBeforeTheRoundBegins_CountsInIt) {
  CoordinatorHarness run;
  const ConnectionId a = run.Join("a");
  run.Report(a, 16);
  run.Report(a, 64);
  EXPECT_FALSE(run.Took<Prepare>(a).has_value());
  const ConnectionId b = run.Join("b");
  run.Report(b, 32);
  EXPECT_EQ(run.Took<Prepare>(a)->digest, "round-1-batch-16-ranks-2")
      << "the second changes nothing";
}

TEST(CoordinatorCoreTest, AgentThatComesBackBeforeTheRoundBegins_IsAskedForWhatItHasNotReported) {
  CoordinatorHarness run;
  ConnectionId a = run.Join("a");
  run.Break(a);
  AgentHello asked = TestHello("a");
  asked.round = 1;
  a = run.Join(asked);
  EXPECT_EQ(run.Took<Collect>(a)->round, 1);
  EXPECT_EQ(run.writes.size(), 1u) << "it is the same round";
  run.Report(a, 16);
  run.Break(a);
  a = run.Join(asked);
  EXPECT_FALSE(run.Took<Collect>(a).has_value());
  const ConnectionId b = run.Join("b");
  run.Report(b, 32);
  EXPECT_EQ(run.Took<Prepare>(a)->digest, "round-1-batch-16-ranks-2");
}

TEST(CoordinatorCoreTest, LastReportBeforeTheLastCall_IsNotWaitedForAgain) {
  CoordinatorConfig config = CoordinatorHarness::TestConfig();
  config.max_nodes = 3;
  CoordinatorHarness run(config);
  const ConnectionId a = run.Join("a");
  const ConnectionId b = run.Join("b");
  run.Report(a, 16);
  run.Report(b, 32);
  EXPECT_FALSE(run.Took<Prepare>(a).has_value()) << "somebody may still come";
  run.Pass(config.last_call, {a, b});
  EXPECT_TRUE(run.Took<Prepare>(a).has_value());
}

TEST(CoordinatorCoreTest, AgentThatHasSeenMore_HasEverybodyAskedAgain) {
  CoordinatorConfig config = CoordinatorHarness::TestConfig();
  config.max_nodes = 3;
  CoordinatorHarness run(config);
  const ConnectionId a = run.Join("a");
  run.Report(a, 16);
  AgentHello seen = TestHello("b");
  seen.round = 17;
  const ConnectionId b = run.Join(seen);
  EXPECT_EQ(run.Took<Collect>(a)->round, 18);
  EXPECT_EQ(run.Took<Collect>(b)->round, 18);
  run.Pass(config.last_call, {a, b});
  run.Report(b, 32);
  EXPECT_FALSE(run.Took<Prepare>(a).has_value()) << "what it reported was for round 1";
  run.Report(a, 24);
  EXPECT_EQ(run.Took<Prepare>(a)->digest, "round-18-batch-24-ranks-2");
}

TEST(CoordinatorCoreTest, NodesAfterACommit_AreNotAskedBeforeTheNextRoundBegins) {
  CoordinatorHarness run;
  const ConnectionId a = run.Join("a");
  const ConnectionId b = run.Join("b");
  run.RunRound({a, b});
  run.Say(b, Leave{.reason = "x"});
  run.Took<Collect>(a);
  run.Pass(absl::Seconds(5), {a});
  EXPECT_FALSE(run.Took<Collect>(a).has_value()) << "one node is not enough, and may still train";
  run.Join("c");
  EXPECT_EQ(run.Took<Collect>(a)->round, 2);
}

TEST(CoordinatorCoreTest, JoinTimeout_NamesWhoIsMissing) {
  CoordinatorConfig config = CoordinatorHarness::TestConfig(3, 3);
  config.expected = {"a", "b", "c"};
  CoordinatorHarness run(config);
  const ConnectionId b = run.Join("b");
  run.Pass(absl::Seconds(599), {b});
  EXPECT_FALSE(run.finished.has_value());
  run.Pass(absl::Seconds(2), {b});
  ASSERT_TRUE(run.finished.has_value());
  EXPECT_EQ(run.finished->exit_code, kExitNoAgreement);
  EXPECT_THAT(run.finished->text, HasSubstr("1 of at least 3"));
  EXPECT_THAT(run.finished->text, HasSubstr("missing: a, c"));
  const auto abort = run.Took<Abort>(b);
  EXPECT_TRUE(abort->over);
  EXPECT_THAT(abort->missing, ElementsAre("a", "c"));
  EXPECT_FALSE(run.core->NextWake().has_value());
}

TEST(CoordinatorCoreTest, ConnectionsWithoutHello_MoveNoDeadlineAndTakeNoSlot) {
  CoordinatorHarness run;
  for (ConnectionId connection = 100; connection < 1100; ++connection) {
    run.Give(coordinator::Connected{connection, "10.9.9.9:1"});
    run.Pass(absl::Milliseconds(500));
    run.Give(coordinator::Disconnected{connection, "reset"});
  }
  run.Pass(absl::Seconds(101));
  EXPECT_TRUE(run.finished.has_value());
}

TEST(CoordinatorCoreTest, MaxNodes_StartAtOnceAndMinNodesAfterTheLastCall) {
  CoordinatorHarness run(CoordinatorHarness::TestConfig(2, 4));
  const ConnectionId a = run.Join("a");
  run.Pass(absl::Seconds(60), {a});
  const ConnectionId b = run.Join("b");
  run.Pass(absl::Seconds(4), {a, b});
  EXPECT_THAT(run.said, Not(HasSubstr("begins")));
  const ConnectionId c = run.Join("c");
  run.Pass(absl::Milliseconds(1500), {a, b, c});
  EXPECT_THAT(run.said, HasSubstr("begins: 3 nodes")) << "the last call is not prolonged";
  EXPECT_TRUE(run.Took<Collect>(c).has_value());
  const ConnectionId d = run.Join("d");
  EXPECT_TRUE(run.Took<Collect>(d).has_value()) << "reports are still being collected";
}

TEST(CoordinatorCoreTest, LossInTheLastCall_TakesItBack) {
  CoordinatorHarness run(CoordinatorHarness::TestConfig(2, 3));
  const auto [a, b] = run.JoinAll("a", "b");
  run.Pass(absl::Seconds(1), {a, b});
  run.Break(b);
  run.Pass(absl::Seconds(10), {a});
  EXPECT_THAT(run.said, Not(HasSubstr("begins"))) << "one node is not enough";
  run.Pass(absl::Seconds(600), {a});
  ASSERT_TRUE(run.finished.has_value());
  EXPECT_THAT(run.finished->text, HasSubstr("missing: b"));
}

TEST(CoordinatorCoreTest, AgentsOfOneBoot_AreOneNode) {
  CoordinatorHarness run;
  AgentHello second = TestHello("a-gpu1");
  second.boot_id = "boot-a";
  const ConnectionId a = run.Join("a");
  const ConnectionId a1 = run.Join(second);
  EXPECT_THAT(run.said, Not(HasSubstr("begins")));
  const ConnectionId b = run.Join("b");
  EXPECT_TRUE(run.Took<Collect>(a1).has_value());
  run.RunRound({a, a1, b});
  ASSERT_EQ(run.rounds.size(), 1u);
  EXPECT_EQ(run.rounds[0].digest, "round-1-batch-8-ranks-3");
}

TEST(CoordinatorCoreTest, ReportTimeout_LeavesTheSilentOneOut) {
  CoordinatorConfig config = CoordinatorHarness::TestConfig(1);
  config.report_timeout = absl::Seconds(30);
  CoordinatorHarness run(config);
  const auto [a, b] = run.JoinAll("a", "b");
  run.Report(a, 8);
  run.Pass(absl::Seconds(31), {a, b});
  EXPECT_EQ(run.Took<Refuse>(b)->code, RefuseCode::kStaleRound);
  EXPECT_EQ(run.Took<Prepare>(a)->digest, "round-1-batch-8-ranks-1");
}

// ---- losses

TEST(CoordinatorCoreTest, LossBeforeTheReport_ShrinksOrEndsTheRound) {
  for (const int64_t min_nodes : {2, 1}) {
    CoordinatorHarness run(CoordinatorHarness::TestConfig(min_nodes));
    const auto [a, b] = run.JoinAll("a", "b");
    run.Report(a, 8);
    run.Break(b);
    EXPECT_FALSE(run.Took<Prepare>(a).has_value());
    run.Pass(absl::Seconds(3), {a});
    if (min_nodes == 1) {
      EXPECT_EQ(run.Took<Prepare>(a)->digest, "round-1-batch-8-ranks-1");
    } else {
      EXPECT_THAT(run.Took<Abort>(a)->missing, ElementsAre("b"));
      EXPECT_FALSE(run.Took<Prepare>(a).has_value());
    }
  }
}

TEST(CoordinatorCoreTest, LossAfterTheReport_AbortsAndTheNextRoundBeginsAtOnce) {
  CoordinatorHarness run(CoordinatorHarness::TestConfig(1));
  const auto [a, b] = run.JoinAll("a", "b");
  run.Report(a, 8);
  run.Report(b, 4);
  run.Prepare(a);
  run.Break(b);
  run.Pass(absl::Seconds(3), {a});
  EXPECT_EQ(run.Took<Abort>(a)->round, 1);
  EXPECT_EQ(run.Took<Collect>(a)->round, 2);
  EXPECT_FALSE(run.Took<Commit>(a).has_value());
  run.RunRound({a});
  ASSERT_EQ(run.rounds.size(), 2u);
  EXPECT_FALSE(run.rounds[0].committed);
  EXPECT_THAT(run.rounds[0].missing, ElementsAre("b"));
  EXPECT_EQ(run.rounds[1].digest, "round-2-batch-8-ranks-1");
}

TEST(CoordinatorCoreTest, LossAfterTheCommit_BeginsANewRoundAtOnce) {
  CoordinatorHarness run(CoordinatorHarness::TestConfig(1));
  const auto [a, b] = run.JoinAll("a", "b");
  run.RunRound({a, b});
  run.Say(b, Leave{.reason = "SIGTERM"});
  EXPECT_EQ(run.Took<Collect>(a)->round, 2);
  EXPECT_TRUE(run.closed.contains(b));
}

TEST(CoordinatorCoreTest, LeaveThatIsDone_BeginsNoRoundAndTheLastOneEndsTheRun) {
  CoordinatorHarness run;
  const auto [a, b] = run.JoinAll("a", "b");
  run.RunRound({a, b});
  run.Took<Collect>(a);
  run.Say(b, Leave{.reason = "trained", .done = true});
  EXPECT_FALSE(run.Took<Collect>(a).has_value());
  EXPECT_FALSE(run.finished.has_value());
  run.Say(a, Leave{.reason = "trained", .done = true});
  EXPECT_EQ(run.finished->exit_code, kExitOk);
}

TEST(CoordinatorCoreTest, LossWhileTheDecisionIsWritten_CommitsNothing) {
  CoordinatorHarness run(CoordinatorHarness::TestConfig(1));
  const auto [a, b] = run.JoinAll("a", "b");
  run.Report({a, b}, 8);
  run.hold_writes = true;
  run.Prepare({a, b});
  ASSERT_EQ(run.held.size(), 1u);
  EXPECT_EQ(run.held[0].state.committed_round, 1);
  run.Say(b, Leave{.reason = "SIGTERM"});
  run.hold_writes = false;
  run.Write();
  EXPECT_FALSE(run.Took<Commit>(a).has_value());
  EXPECT_EQ(run.Took<Abort>(a)->round, 1);
  EXPECT_EQ(run.Took<Collect>(a)->round, 2);
  EXPECT_EQ(run.writes.back().state.committed_round, 0);
}

TEST(CoordinatorCoreTest, LateJoiner_WaitsForItsLastCall) {
  CoordinatorHarness run(CoordinatorHarness::TestConfig(2, 4));
  const auto [a, b] = run.JoinAll("a", "b");
  run.Pass(absl::Seconds(5), {a, b});
  run.Report({a, b}, 8);
  const ConnectionId c = run.Join("c");
  EXPECT_FALSE(run.Took<Collect>(c).has_value()) << "the round has its members";
  EXPECT_THAT(run.Took<Progress>(c)->text, HasSubstr("in line for the round after 1"));
  run.Prepare({a, b});
  run.Commit({a, b});
  EXPECT_TRUE(run.rounds[0].committed);
  run.Pass(absl::Seconds(4), {a, b, c});
  EXPECT_FALSE(run.Took<Collect>(c).has_value());
  run.Pass(absl::Seconds(2), {a, b, c});
  EXPECT_EQ(run.Took<Collect>(c)->round, 2);
  EXPECT_EQ(run.Took<Collect>(a)->round, 2);
}

TEST(CoordinatorCoreTest, NodeBeyondTheMaximum_StandsInForALostOne) {
  CoordinatorHarness run;
  const auto [a, b, c] = run.JoinAll("a", "b", "c");
  EXPECT_TRUE(run.Took<Welcome>(c).has_value());
  EXPECT_THAT(run.Took<Progress>(c)->text, HasSubstr("in reserve: round 1 has its 2 nodes"));
  run.RunRound({a, b});
  run.Took<Collect>(a);
  run.Pass(absl::Seconds(60), {a, b, c});
  EXPECT_FALSE(run.Took<Collect>(c).has_value());
  run.Say(b, Leave{.reason = "SIGTERM"});
  EXPECT_EQ(run.Took<Collect>(c)->round, 2);
  EXPECT_EQ(run.Took<Collect>(a)->round, 2);
}

TEST(CoordinatorCoreTest, CommitThatIsNotConfirmed_IsNamedAndItsMemberIsLost) {
  CoordinatorHarness run(CoordinatorHarness::TestConfig(1));
  const auto [a, b] = run.JoinAll("a", "b");
  run.Report({a, b}, 8);
  run.Prepare({a, b});
  run.Commit(a);
  run.Took<Collect>(a);
  run.Pass(absl::Seconds(11), {a, b});
  ASSERT_EQ(run.confirmed.size(), 1u);
  EXPECT_THAT(run.confirmed[0].confirmed, ElementsAre("a"));
  EXPECT_THAT(run.confirmed[0].missing, ElementsAre("b"));
  EXPECT_TRUE(run.closed.contains(b));
  EXPECT_EQ(run.Took<Collect>(a)->round, 2);
}

TEST(CoordinatorCoreTest, PrepareThatIsNotAnswered_AbortsNamingWho) {
  CoordinatorHarness run(CoordinatorHarness::TestConfig(1));
  const auto [a, b] = run.JoinAll("a", "b");
  run.Report({a, b}, 8);
  run.Prepare(a);
  run.Pass(absl::Seconds(11), {a, b});
  EXPECT_THAT(run.Took<Abort>(a)->missing, ElementsAre("b"));
  EXPECT_EQ(run.Took<Collect>(a)->round, 2);
}

TEST(CoordinatorCoreTest, Once_EndsWhenAllHaveConfirmedOrSaysWhoHasNot) {
  CoordinatorConfig config = CoordinatorHarness::TestConfig();
  config.once = true;
  for (const bool all : {true, false}) {
    CoordinatorHarness run(config);
    const auto [a, b, spare] = run.JoinAll("a", "b", "spare");
    run.Report({a, b}, 8);
    run.Prepare({a, b});
    run.Commit(a);
    EXPECT_FALSE(run.finished.has_value());
    if (all) {
      run.Commit(b);
      EXPECT_EQ(run.finished->exit_code, kExitOk);
      EXPECT_FALSE(run.Took<Abort>(a).has_value());
    } else {
      run.Break(b);
      run.Pass(absl::Seconds(3), {a, spare});
      EXPECT_EQ(run.finished->exit_code, kExitPeerLost);
      EXPECT_THAT(run.finished->text, HasSubstr("missing: b"));
    }
    EXPECT_TRUE(run.Took<Abort>(spare)->over);
  }
}

// Whoever is put out while it still hears from us may start training for as long as its lease.
TEST(CoordinatorCoreTest, MemberThatIsPutOut_HasItsLeaseBeforeANewerCommit) {
  CoordinatorHarness run(CoordinatorHarness::TestConfig(1));
  const auto [a, b] = run.JoinAll("a", "b");
  EXPECT_EQ(run.Took<Welcome>(b)->lease_ms, 2000);
  run.Report({a, b}, 8);
  run.Prepare(a);
  run.Say(b, Prepared{.digest = "forged"});
  run.Report(a, 8);
  run.Prepare(a);
  run.Pass(absl::Milliseconds(1900), {a});
  EXPECT_FALSE(run.Took<Commit>(a).has_value());
  run.Pass(absl::Milliseconds(200), {a});
  EXPECT_EQ(run.Took<Commit>(a)->round, 2);
}

TEST(CoordinatorCoreTest, MemberThatWasStartedTwice_HasItsLeaseToo) {
  CoordinatorHarness run;
  const auto [a, b] = run.JoinAll("a", "b");
  run.RunRound({a, b});
  run.Break(b);
  AgentHello anew = TestHello("b");
  anew.incarnation = "b.2";
  const ConnectionId again = run.Join(anew);
  run.RunRound({a, again});
  EXPECT_EQ(run.rounds.size(), 1u);
  run.Pass(absl::Milliseconds(2100), {a, again});
  EXPECT_EQ(run.rounds.size(), 2u);
}

TEST(CoordinatorCoreTest, Drain_TellsEverybodyAndEnds) {
  CoordinatorHarness run;
  const auto [a, b] = run.JoinAll("a", "b");
  run.RunRound({a, b});
  run.Give(coordinator::Drain{.reason = "SIGTERM"});
  EXPECT_EQ(run.finished->exit_code, kExitOk);
  const auto abort = run.Took<Abort>(a);
  ASSERT_TRUE(abort.has_value());
  EXPECT_TRUE(abort->over);
  EXPECT_EQ(abort->exit_code, kExitPeerLost);
  EXPECT_TRUE(run.closed.contains(a));
}

TEST(CoordinatorCoreTest, Messages_MoveNothingWhenTheRunIsOver) {
  CoordinatorHarness run;
  const ConnectionId a = run.Join("a");
  run.Give(coordinator::Drain{});
  run.finished.reset();
  run.closed.erase(a);
  run.Report(a, 8);
  run.Give(coordinator::Connected{77, "late"});
  EXPECT_TRUE(run.closed.contains(77));
  EXPECT_FALSE(run.finished.has_value());
}

}  // namespace
}  // namespace autobatch
