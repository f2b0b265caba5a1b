#include "orchestrator/service/coordinator_service.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "autobatch/base/files.h"
#include "autobatch/types/json.h"
#include "orchestrator/core/exit_codes.h"
#include "orchestrator/service/service_fixture.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CoordinatorServiceTest : public ServiceFixture {};

TEST_F(CoordinatorServiceTest, ThreeAgents_CommitTheirMinimum) {
  StartCoordinator();
  StartAgent("n1", 24);
  StartAgent("n2", 96);
  StartAgent("n3", 32);
  RunUntilCommitted(1);
  ASSERT_TRUE(ended_.back().committed);
  const auto record = ReadRecord(*ended_.back().record, Digest);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->minimum_batch, 24);
  EXPECT_EQ(record->minimum_node, "n1");
  EXPECT_EQ(record->world_size, 3);
  EXPECT_THAT(confirmed_.back().confirmed, ElementsAre("n1", "n2", "n3"));
  for (auto& [name, agent] : agents_) EXPECT_THAT(agent.commits, ElementsAre(1));
}

TEST_F(CoordinatorServiceTest, State_IsOnTheDiskAndRoundsGoOnAfterARestart) {
  StartCoordinator();
  StartAgent("n1", 24);
  StartAgent("n2", 24);
  RunUntilCommitted(1);
  const auto state = LoadState(StateFile(), "job");
  ASSERT_TRUE(state.ok() && state->has_value());
  EXPECT_EQ((*state)->committed_round, 1);
  coordinator_->Drain("restarted", kExitOk);
  RunUntil([this] { return outcome_.has_value(); });
  RunUntil([this] { return AllOver(); });
  agents_.clear();
  confirmed_.clear();
  StartCoordinator();
  StartAgent("n1", 24);
  StartAgent("n2", 24);
  RunUntilCommitted(2);
  EXPECT_GT(confirmed_.back().round, 1);
}

TEST_F(CoordinatorServiceTest, FirstNumber_IsOnTheDiskBeforeAnybodyComes) {
  StartCoordinator();
  RunUntil([this] { return std::filesystem::exists(StateFile().path()); });
  const auto state = LoadState(StateFile(), "job");
  ASSERT_TRUE(state.ok() && state->has_value());
  EXPECT_EQ((*state)->round, 1);
  EXPECT_EQ((*state)->committed_round, 0);
  StartAgent("n1", 24);
  StartAgent("n2", 24);
  RunUntilCommitted(1);
  EXPECT_EQ(confirmed_.back().round, 1);
}

TEST_F(CoordinatorServiceTest, StateThatCannotBeWritten_CommitsNothing) {
  StartCoordinator();
  // A folder stands where the state should be; as root, permissions stop nobody.
  std::filesystem::create_directories(folder_ + "/coordinator.state/in the way");
  StartAgent("n1", 24);
  StartAgent("n2", 24);
  RunUntil([this] { return outcome_.has_value(); });
  EXPECT_NE(outcome_->exit_code, kExitOk);
  EXPECT_THAT(outcome_->text, HasSubstr("coordinator.state"));
  RunUntil([this] { return AllOver(); });
  for (auto& [name, agent] : agents_) {
    EXPECT_THAT(agent.commits, IsEmpty());
    EXPECT_FALSE(std::filesystem::exists(agent.record_path));
  }
}

TEST_F(CoordinatorServiceTest, TooFewNodes_EndsByTheJoinTimeoutAndNamesWhoIsMissing) {
  config_.expected = {"n1", "n2"};
  config_.join_timeout = absl::Seconds(20);
  StartCoordinator();
  StartAgent("n1", 24);
  RunUntil([this] { return outcome_.has_value(); });
  EXPECT_EQ(outcome_->exit_code, kExitNoAgreement);
  EXPECT_THAT(outcome_->text, HasSubstr("n2"));
  RunUntil([this] { return AllOver(); });
  EXPECT_EQ(agents_.at("n1").outcome->exit_code, kExitNoAgreement);
}

TEST_F(CoordinatorServiceTest, LostAgent_TheOthersCommitTheNextRoundFromWhatTheyKnow) {
  StartCoordinator();
  StartAgent("n1", 24);
  StartAgent("n2", 96);
  StartAgent("n3", 32);
  RunUntilCommitted(1);
  network_.Unplug("n1", true);
  RunUntilCommitted(2);
  const auto record = ReadRecord(*ended_.back().record, Digest);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->minimum_batch, 32);
  EXPECT_EQ(record->world_size, 2);
}

TEST_F(CoordinatorServiceTest, Drain_TellsEverybodyWhy) {
  StartCoordinator();
  StartAgent("n1", 24);
  RunUntil([this] { return !said_.empty(); });
  coordinator_->Drain("ended by signal 15", 143);
  RunUntil([this] { return AllOver(); });
  EXPECT_THAT(agents_.at("n1").outcome->text, HasSubstr("signal 15"));
}

TEST(LoadStateTest, NoFileIsTheFirstStart) {
  const SealedFile file(testing::TempDir() + "/none.state", [](absl::string_view) { return "s"; });
  const auto state = LoadState(file, "job");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_FALSE(state->has_value());
}

TEST(LoadStateTest, OtherRunOrDamage_IsRefusedWithAdvice) {
  const SealedFile file(testing::TempDir() + "/other.state", [](absl::string_view) { return "s"; });
  ASSERT_TRUE(file.Write(ToJson(CoordinatorState{.run_id = "other", .round = 3})).ok());
  EXPECT_THAT(std::string(LoadState(file, "job").status().message()), HasSubstr("other"));
  EXPECT_TRUE(LoadState(file, "other").ok());
  ASSERT_TRUE(file.Write(ToJson(CoordinatorState{.run_id = "other", .committed_round = 3})).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(LoadState(file, "other").status()));
  ASSERT_TRUE(WriteFileAtomically(file.path(), "torn").ok());
  const absl::Status status = LoadState(file, "job").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a run of another name"));
}

}  // namespace
}  // namespace autobatch
