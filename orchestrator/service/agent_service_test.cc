#include "orchestrator/service/agent_service.h"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <future>

#include "autobatch/base/files.h"
#include "autobatch/probe/node_summary.h"
#include "orchestrator/core/exit_codes.h"
#include "orchestrator/service/ask_agent.h"
#include "orchestrator/service/service_fixture.h"

namespace autobatch {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AgentServiceTest : public ServiceFixture {
 protected:
  // Asks as a training process does, while the cluster goes on.
  absl::StatusOr<WorkerReply> Ask(Agent& agent, int64_t world_size, int64_t rank = 0) {
    auto reply = std::async(std::launch::async, [&agent, world_size, rank] {
      const WorkerRequest request{
          .world_size = world_size, .rank = rank, .local_rank = 0, .local_world_size = 1};
      return AskAgent(agent.socket_path, request,
                      std::chrono::steady_clock::now() + std::chrono::seconds(30));
    });
    RunUntil(
        [&reply] { return reply.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    return reply.get();
  }
};

TEST_F(AgentServiceTest, CommittedRecord_IsInTheFileAndShared) {
  StartCoordinator();
  Agent& first = StartAgent("n1", 24);
  StartAgent("n2", 96);
  StartAgent("n3", 96);
  RunUntilCommitted(1);
  const auto text = ReadFile(first.record_path);
  ASSERT_TRUE(text.ok()) << text.status();
  const auto record = ReadRecord(*text, Digest);
  ASSERT_TRUE(record.ok()) << record.status();
  const auto reply = Ask(first, 3, 2);
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->verdict, WorkerVerdict::kGranted) << reply->message;
  EXPECT_EQ(reply->share->micro_batch, 24);
  EXPECT_EQ(reply->share->digest, record->digest);
  EXPECT_THAT(reply->variables, Contains(Field(&WorkerVariable::name, "AUTOBATCH_MICRO_BATCH")));
}

TEST_F(AgentServiceTest, WorldThatHasNoRow_IsRefusedInWords) {
  StartCoordinator();
  Agent& first = StartAgent("n1", 24);
  StartAgent("n2", 96);
  RunUntilCommitted(1);
  const auto reply = Ask(first, 9);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->verdict, WorkerVerdict::kWorldSize);
  EXPECT_THAT(reply->message, HasSubstr("9"));
}

TEST_F(AgentServiceTest, WorkerBeforeTheCommit_GetsItsShareWithIt) {
  StartCoordinator();
  Agent& first = StartAgent("n1", 24);
  auto reply = std::async(std::launch::async, [&first] {
    const WorkerRequest request{.world_size = 2, .local_world_size = 1};
    return AskAgent(first.socket_path, request,
                    std::chrono::steady_clock::now() + std::chrono::seconds(30));
  });
  StartAgent("n2", 96);
  RunUntil(
      [&reply] { return reply.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  const auto answer = reply.get();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->verdict, WorkerVerdict::kGranted) << answer->message;
}

TEST_F(AgentServiceTest, OlderRecord_IsGoneFromTheStart) {
  std::filesystem::create_directories(folder_ + "/n1");
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/n1/record.json", "of an earlier run").ok());
  Agent& agent = StartAgent("n1", 24);
  EXPECT_FALSE(std::filesystem::exists(agent.record_path));
}

TEST_F(AgentServiceTest, NextRound_ProbesAgainOnlyWhereAskedAndKeepsTheNewRecord) {
  StartCoordinator();
  Agent& first = StartAgent("n1", 96);
  Agent& second = StartAgent("n2", 64);
  StartAgent("n3", 24);
  RunUntilCommitted(1);
  network_.Unplug("n3", true);
  RunUntilCommitted(2);
  RunUntil([&] { return first.commits.size() == 2 && second.commits.size() == 2; });
  const auto reply = Ask(first, 2);
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->verdict, WorkerVerdict::kGranted) << reply->message;
  EXPECT_EQ(reply->share->micro_batch, 64);
  EXPECT_GT(reply->share->round, 1);
}

TEST_F(AgentServiceTest, AgentCutOff_StartsNothingOnARecordThatMayBeOld) {
  StartCoordinator();
  Agent& first = StartAgent("n1", 24);
  StartAgent("n2", 96);
  StartAgent("n3", 96);
  RunUntilCommitted(1);
  network_.Unplug("n1", true);
  RunUntilCommitted(2);
  auto reply = std::async(std::launch::async, [&first] {
    const WorkerRequest request{.world_size = 3, .local_world_size = 1};
    return AskAgent(first.socket_path, request,
                    std::chrono::steady_clock::now() + std::chrono::milliseconds(500));
  });
  RunUntil(
      [&reply] { return reply.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  const auto answer = reply.get();
  ASSERT_TRUE(answer.ok()) << answer.status();
  // Simulated time flies: it may already have given up looking for the coordinator.
  EXPECT_THAT(answer->verdict, AnyOf(WorkerVerdict::kNoRecord, WorkerVerdict::kLeaving));
  if (answer->verdict == WorkerVerdict::kNoRecord) {
    EXPECT_THAT(answer->message, HasSubstr("the record of round 1 is there, but it may be out of"));
  }
}

TEST_F(AgentServiceTest, NoCoordinator_EndsByTheJoinTimeoutAndLeavesNothing) {
  Agent& agent = StartAgent("n1", 24);
  RunUntil([&agent] { return agent.outcome.has_value(); });
  EXPECT_EQ(agent.outcome->exit_code, kExitPeerLost);
  EXPECT_FALSE(std::filesystem::exists(agent.record_path));
  EXPECT_FALSE(std::filesystem::exists(agent.socket_path));
  EXPECT_TRUE(agent.prober.cancelled);
}

TEST_F(AgentServiceTest, RecordThatCannotBeWritten_CommitsNothing) {
  StartCoordinator();
  Agent& first = StartAgent("n1", 24);
  // Stands for a full disk.
  std::filesystem::create_directories(first.record_path + ".prepared/in the way");
  Agent& second = StartAgent("n2", 96);
  RunUntil([this] { return !ended_.empty(); });
  EXPECT_FALSE(ended_.back().committed);
  EXPECT_THAT(first.commits, IsEmpty());
  EXPECT_THAT(second.commits, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(second.record_path));
}

TEST_F(AgentServiceTest, DrainedAgent_ToldTheOthersAndEndsWithItsCode) {
  StartCoordinator();
  Agent& first = StartAgent("n1", 24);
  StartAgent("n2", 96);
  StartAgent("n3", 96);
  RunUntilCommitted(1);
  first.service->Drain("ended by signal 15", false, kExitSignal + 15);
  RunUntil([&first] { return first.outcome.has_value(); });
  EXPECT_EQ(first.outcome->exit_code, kExitSignal + 15);
  RunUntilCommitted(2);
  EXPECT_THAT(said_, Contains(HasSubstr("signal 15")));
}

TEST_F(AgentServiceTest, DeviceThatCannotTrain_EndsTheRunAndIsNamed) {
  StartCoordinator();
  StartAgent("n1", 24);
  StartAgent("n2", 0);
  RunUntil([this] { return AllOver(); });
  EXPECT_EQ(outcome_->exit_code, kExitCannotRun);
  EXPECT_THAT(outcome_->text, HasSubstr("n2"));
}

TEST_F(AgentServiceTest, SecondAgentOfAName_IsRefusedAndTheFirstGoesOn) {
  StartCoordinator();
  StartAgent("n1", 24);
  StartAgent("n2", 24);
  RunUntilCommitted(1);
  // Another start of the same name, in a folder of its own.
  Agent& other = agents_["second n1"];
  other.connector = network_.MakeConnector("elsewhere", "job");
  other.record_path = folder_ + "/other.json";
  AgentServiceOptions options{
      .coordinator = {kAddress}, .digest = Digest, .record_path = other.record_path};
  options.config.hello = {.run_id = "job",
                          .agent = "n1",
                          .incarnation = "another",
                          .boot_id = "elsewhere",
                          .devices = {{.uuid = "GPU-other"}},
                          .config_digest = "c"};
  other.service = std::make_unique<AgentService>(std::move(options),
                                                 AgentParts{.io = loop_.io,
                                                            .timers = loop_.timers,
                                                            .connector = *other.connector,
                                                            .prober = other.prober,
                                                            .file_pool = pool_.get_executor(),
                                                            .work_pool = pool_.get_executor()});
  ASSERT_TRUE(other.service->Start().ok());
  Spawn(other.service->Run(), other.outcome);
  RunUntil([&other] { return other.outcome.has_value(); });
  EXPECT_EQ(other.outcome->exit_code, kExitNoAgreement);
  EXPECT_THAT(other.outcome->text, HasSubstr("n1"));
  EXPECT_FALSE(agents_.at("n1").outcome.has_value());
}

}  // namespace
}  // namespace autobatch
