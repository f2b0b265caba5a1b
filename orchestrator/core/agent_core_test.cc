#include "orchestrator/core/agent_core.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "orchestrator/core/agent_harness.h"
#include "orchestrator/core/exit_codes.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

TEST(AgentCoreTest, Round_IsReportedPreparedAndCommitted) {
  AgentHarness a;
  EXPECT_EQ(a.Wanted<agent::Connect>()->delay, absl::ZeroDuration());
  a.Give(agent::Connected{});
  EXPECT_EQ(a.Sent<AgentHello>()->incarnation, "f00d.0");
  a.Say(Welcome{});
  EXPECT_FALSE(a.Wanted<agent::Probe>().has_value());
  a.Say(Collect{.round = 4});
  EXPECT_EQ(a.Wanted<agent::Probe>()->round, 4);
  a.Give(agent::Probed{.devices = {{.uuid = "GPU-1", .batch = 8}}, .summary = "s"});
  EXPECT_EQ(a.Sent<Report>()->devices[0].batch, 8);
  a.Say(AgentHarness::PrepareOf(4));
  EXPECT_FALSE(a.Sent<Prepared>().has_value()) << "it is not written yet";
  const auto write = a.Wanted<agent::WritePrepared>();
  ASSERT_TRUE(write.has_value());
  EXPECT_EQ(*write->record, AgentHarness::PrepareOf(4).record);
  a.Give(agent::PreparedWritten{4, absl::OkStatus()});
  EXPECT_EQ(a.Sent<Prepared>()->digest, "round-4");
  EXPECT_FALSE(a.Wanted<agent::WriteCommitted>().has_value());
  a.Say(Commit{.round = 4, .digest = "round-4"});
  EXPECT_EQ(a.Wanted<agent::WriteCommitted>()->round, 4);
  EXPECT_FALSE(a.Sent<Committed>().has_value());
  a.Give(agent::CommittedWritten{4, absl::OkStatus()});
  EXPECT_EQ(a.Sent<Committed>()->digest, "round-4");
  EXPECT_FALSE(a.finished.has_value());
}

TEST(AgentCoreTest, Once_EndsWithItsFirstCommit) {
  AgentConfig config = AgentHarness::TestConfig();
  config.once = true;
  AgentHarness a(config);
  a.BecomeMember();
  a.Commit(1);
  ASSERT_TRUE(a.finished.has_value());
  EXPECT_EQ(a.finished->exit_code, kExitOk);
  EXPECT_EQ(a.Sent<Committed>()->digest, "round-1");
  EXPECT_FALSE(a.Wanted<agent::WithdrawRecord>().has_value());
}

// ---- what was not committed

TEST(AgentCoreTest, CommitOfWhatWasNotPrepared_IsRefused) {
  AgentHarness a;
  a.BecomeMember();
  a.Say(Collect{.round = 2});
  a.Say(Commit{.round = 2, .digest = "round-2"});
  EXPECT_FALSE(a.Wanted<agent::WriteCommitted>().has_value());
  EXPECT_THAT(a.said, HasSubstr("refused to commit round 2"));
}

TEST(AgentCoreTest, CommitOfAnotherDigest_IsRefused) {
  AgentHarness a;
  a.BecomeMember();
  a.Prepare(2);
  a.Say(Commit{.round = 2, .digest = "round-2-of-another"});
  EXPECT_FALSE(a.Wanted<agent::WriteCommitted>().has_value());
}

TEST(AgentCoreTest, RecordThatCannotBeBelieved_IsNotPrepared) {
  Prepare wrong_round = AgentHarness::PrepareOf(3);
  wrong_round.round = 2;
  Prepare wrong_digest = AgentHarness::PrepareOf(2);
  wrong_digest.digest = "round-2-x";
  Prepare damaged = AgentHarness::PrepareOf(2);
  damaged.record = "{\"digest\": \"nonsense\"}";
  for (const Prepare& prepare : {wrong_round, wrong_digest, damaged}) {
    AgentHarness a;
    a.BecomeMember();
    a.Say(Collect{.round = 2});
    a.Say(prepare);
    EXPECT_FALSE(a.Wanted<agent::WritePrepared>().has_value());
    ASSERT_TRUE(a.finished.has_value());
    EXPECT_EQ(a.finished->exit_code, kExitNoAgreement);
    EXPECT_THAT(a.Sent<Leave>()->reason, HasSubstr("cannot be believed"));
  }
}

TEST(AgentCoreTest, DiskThatIsFull_EndsTheAgentBeforeItSaysPrepared) {
  AgentHarness a;
  a.BecomeMember();
  a.Say(Collect{.round = 2});
  a.Say(AgentHarness::PrepareOf(2));
  a.Give(agent::PreparedWritten{2, absl::ResourceExhaustedError("no space left")});
  EXPECT_FALSE(a.Sent<Prepared>().has_value());
  EXPECT_THAT(a.Sent<Leave>()->reason, HasSubstr("no space left"));
  EXPECT_EQ(a.finished->exit_code, kExitInternal);
  EXPECT_TRUE(a.Wanted<agent::WithdrawRecord>().has_value());
}

TEST(AgentCoreTest, Abort_WithdrawsWhatWasPreparedAndTheNextRoundFollows) {
  AgentHarness a;
  a.BecomeMember();
  a.Prepare(1);
  a.Say(Abort{.round = 1, .reason = "b is gone"});
  EXPECT_EQ(a.Wanted<agent::WithdrawRecord>()->round, 1);
  a.Say(Commit{.round = 1, .digest = "round-1"});
  EXPECT_FALSE(a.Wanted<agent::WriteCommitted>().has_value());
  a.Commit(2);
  EXPECT_EQ(a.Sent<Committed>()->round, 2);
}

TEST(AgentCoreTest, AbortThatEndsTheRun_LeavesNoRecordToStartOnAndWhatTrains) {
  AgentHarness a;
  a.BecomeMember();
  a.Commit(1);
  a.actions.clear();
  a.Say(Abort{.round = 1, .reason = "no agreement", .over = true, .exit_code = 7});
  EXPECT_EQ(a.finished->exit_code, 7);
  EXPECT_TRUE(a.Wanted<agent::WithdrawRecord>().has_value());
  EXPECT_FALSE(a.Wanted<agent::StopTraining>().has_value());
}

TEST(AgentCoreTest, StaleMessages_AreLeftAlone) {
  AgentHarness a;
  a.BecomeMember();
  a.Commit(3);
  a.actions.clear();
  a.sent.clear();
  a.Say(Collect{.round = 2});
  a.Say(AgentHarness::PrepareOf(2));
  a.Say(Commit{.round = 2, .digest = "round-2"});
  a.Say(Abort{.round = 2, .reason = "late"});
  a.Say(Grants{.round = 2});
  a.Say(Reduce{.round = 2, .attempt = 1, .unique_id = "00", .world = 1});
  EXPECT_TRUE(a.actions.empty());
  EXPECT_TRUE(a.sent.empty());
}

TEST(AgentCoreTest, RepeatedMessages_AreAnsweredAgainAndDoneOnce) {
  AgentHarness a;
  a.BecomeMember();
  a.Prepare(1);
  a.actions.clear();
  a.sent.clear();
  a.Say(AgentHarness::PrepareOf(1));
  EXPECT_EQ(a.Sent<Prepared>()->digest, "round-1");
  EXPECT_TRUE(a.actions.empty());
  a.Say(Commit{.round = 1, .digest = "round-1"});
  a.Say(Commit{.round = 1, .digest = "round-1"});
  EXPECT_EQ(a.actions.size(), 1u);
  a.Give(agent::CommittedWritten{1, absl::OkStatus()});
  a.actions.clear();
  a.sent.clear();
  a.Say(Commit{.round = 1, .digest = "round-1"});
  EXPECT_EQ(a.Sent<Committed>()->digest, "round-1");
  EXPECT_TRUE(a.actions.empty());
}

// ---- the next round

TEST(AgentCoreTest, NextRound_StopsTrainingBeforeItSaysPrepared) {
  AgentHarness a;
  a.BecomeMember();
  a.Commit(1);
  a.Say(Collect{.round = 2});
  EXPECT_FALSE(a.Wanted<agent::StopTraining>().has_value());
  a.Probed();
  a.actions.clear();
  a.Say(AgentHarness::PrepareOf(2));
  ASSERT_EQ(a.actions.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<agent::StopTraining>(a.actions[0]));
  EXPECT_TRUE(std::holds_alternative<agent::WritePrepared>(a.actions[1]));
}

TEST(AgentCoreTest, NextRoundWhileACommitIsWritten_StopsWhatMayHaveStarted) {
  AgentHarness a;
  a.BecomeMember();
  a.Prepare(1);
  a.Say(Commit{.round = 1, .digest = "round-1"});
  a.Say(Collect{.round = 2});
  a.Give(agent::CommittedWritten{1, absl::OkStatus()});
  a.Probed();
  a.actions.clear();
  a.Say(AgentHarness::PrepareOf(2));
  EXPECT_TRUE(a.Wanted<agent::StopTraining>().has_value());
}

TEST(AgentCoreTest, RoundWhileItProbes_IsReportedForOnceTheProbeEnds) {
  AgentHarness a;
  a.BecomeMember();
  a.Say(Collect{.round = 1});
  a.Say(Collect{.round = 2});
  a.Say(Collect{.round = 3});
  EXPECT_EQ(a.actions.size(), 1u + 1u) << "one Connect, one Probe";
  a.Probed();
  EXPECT_EQ(a.Sent<Report>()->round, 3);
}

TEST(AgentCoreTest, ProbeThatHeldBackTooLittle_IsRepeated) {
  AgentHarness a;
  a.BecomeMember();
  a.Say(Collect{.round = 1});
  a.Say(Collect{.round = 2, .communicator_bytes = 1000});
  a.actions.clear();
  a.Probed();
  EXPECT_FALSE(a.Sent<Report>().has_value());
  EXPECT_EQ(a.Wanted<agent::Probe>()->communicator_bytes, 1000);
  a.Give(agent::Probed{.devices = {{.uuid = "GPU-1", .batch = 7}}, .communicator_bytes = 1000});
  EXPECT_EQ(a.Sent<Report>()->devices[0].batch, 7);
}

// ---- reductions

TEST(AgentCoreTest, Root_MakesAnIdAndReducesUnderIt) {
  AgentHarness a;
  a.BecomeMember();
  a.Say(Collect{.round = 1});
  a.Probed();
  a.Say(Reduce{.round = 1, .attempt = 1, .world = 4});
  EXPECT_EQ(a.Wanted<agent::MakeReduceId>()->attempt, 1);
  a.Give(agent::ReduceIdMade{1, "00ff"});
  EXPECT_EQ(a.Sent<ReduceId>()->unique_id, "00ff");
  a.Say(Reduce{.round = 1, .attempt = 1, .unique_id = "00ff", .rank_base = 0, .world = 4});
  EXPECT_EQ(a.Wanted<agent::StartReduce>()->world, 4);
  a.Give(agent::Reduced{1, 8, 99});
  EXPECT_EQ(a.Sent<ReduceResult>()->minimum, 8);
  EXPECT_FALSE(a.Wanted<agent::EndReduce>().has_value()) << "others may need the id still";
  a.Say(AgentHarness::PrepareOf(1));
  EXPECT_TRUE(a.Wanted<agent::EndReduce>().has_value());
}

TEST(AgentCoreTest, AttemptThatIsOverOrRepeated_StartsNothing) {
  AgentHarness a;
  a.BecomeMember();
  a.Say(Collect{.round = 1});
  a.Probed();
  const Reduce first{.round = 1, .attempt = 1, .unique_id = "00", .rank_base = 1, .world = 4};
  a.Say(first);
  EXPECT_TRUE(a.Wanted<agent::StartReduce>().has_value());
  a.Say(first);
  EXPECT_FALSE(a.Wanted<agent::StartReduce>().has_value());
  Reduce second = first;
  second.attempt = 2;
  a.Say(second);
  EXPECT_TRUE(a.Wanted<agent::EndReduce>().has_value());
  EXPECT_EQ(a.Wanted<agent::StartReduce>()->attempt, 2);
  a.Give(agent::Reduced{1, 8});
  EXPECT_FALSE(a.Sent<ReduceResult>().has_value()) << "of the first attempt";
  a.Give(agent::Reduced{2, absl::UnavailableError("a peer is gone")});
  EXPECT_EQ(a.Sent<ReduceResult>()->failure, "a peer is gone");
  a.Say(second);
  EXPECT_EQ(a.Sent<ReduceResult>()->failure, "a peer is gone");
  a.Say(Abort{.round = 1, .reason = "b is gone"});
  a.actions.clear();
  a.Say(second);
  EXPECT_TRUE(a.actions.empty());
}

// ---- leaving

TEST(AgentCoreTest, Drain_SaysLeaveAndTakesTheRecordAway) {
  AgentHarness a;
  a.BecomeMember();
  a.Commit(1);
  a.actions.clear();
  a.Give(agent::Drain{.reason = "SIGTERM", .exit_code = 143});
  EXPECT_EQ(a.Sent<Leave>()->reason, "SIGTERM");
  EXPECT_EQ(a.finished->exit_code, 143);
  // The others go on without this node, and commit a record that it is not in.
  EXPECT_EQ(a.Wanted<agent::WithdrawRecord>()->round, 1);
  EXPECT_FALSE(a.Wanted<agent::StopTraining>().has_value());
}

TEST(AgentCoreTest, DrainOfAJobThatIsDone_KeepsTheRecord) {
  AgentHarness a;
  a.BecomeMember();
  a.Commit(1);
  a.actions.clear();
  a.Give(agent::Drain{.reason = "the job is done", .done = true});
  EXPECT_EQ(a.finished->exit_code, 0);
  EXPECT_FALSE(a.Wanted<agent::WithdrawRecord>().has_value());
}

}  // namespace
}  // namespace autobatch
