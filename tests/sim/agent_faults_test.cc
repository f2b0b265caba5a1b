// What happens to a cluster when something happens to an agent.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "tests/sim/fault_test_base.h"

namespace autobatch::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class AgentFaultTest : public FaultTest {};

TEST_F(AgentFaultTest, NoFault_EverybodyTrainsOnTheMinimum) {
  Make(AllOfThree()).Start();
  ASSERT_TRUE(Agree());
  EXPECT_EQ(cluster().LastRecord()->world_size, 6);
  EXPECT_EQ(cluster().ledger().commits(), 1);
}

// F1
TEST_F(AgentFaultTest, KilledBeforeHello_JoinDeadlineNamesIt) {
  Make(AllOfThree()).Start();
  agent(2).on_send = [this] { agent(2).Kill(); };
  ASSERT_TRUE(CoordinatorEnds());
  EXPECT_THAT(coordinator().finished()->text, HasSubstr("agent-3"));
  EXPECT_EQ(coordinator().finished()->exit_code, 7);
  EXPECT_THAT(cluster().Training(), IsEmpty());
}

// F2
TEST_F(AgentFaultTest, KilledBeforeItsReport_WhereTwoSuffice_TheOthersGoOn) {
  Make(TwoOfThree());
  agent(2).setup().first_probe = absl::Hours(1);
  cluster().Start();
  cluster().Run(absl::Seconds(20));
  EXPECT_THAT(cluster().Training(), IsEmpty());
  agent(2).Kill();
  ASSERT_TRUE(Agree(absl::Seconds(30)));
  EXPECT_THAT(cluster().Training(), UnorderedElementsAre("agent-1", "agent-2"));
  EXPECT_TRUE(cluster().Said("agent-3"));
}

TEST_F(AgentFaultTest, KilledBeforeItsReport_WhereAllAreNeeded_TheRunEndsAndNamesIt) {
  Make(AllOfThree());
  agent(2).setup().first_probe = absl::Hours(1);
  cluster().Start();
  cluster().Run(absl::Seconds(20));
  agent(2).Kill();
  ASSERT_TRUE(CoordinatorEnds(absl::Minutes(3)));
  EXPECT_THAT(coordinator().finished()->text, HasSubstr("agent-3"));
  EXPECT_THAT(cluster().Training(), IsEmpty());
}

// F3: the connection is cut somewhere in what was just sent, header or body.
TEST_F(AgentFaultTest, KilledWhileItsFrameIsUnderWay_KeepsNoPlace) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    ClusterOptions options = TwoOfThree();
    options.seed = seed;
    Make(options).Start();
    cluster().Run(absl::Seconds(4));
    int frames = 0;
    agent(2).on_send = [this, &frames, seed] {
      // The frame before is still under way.
      if (++frames == 2 + static_cast<int>(seed % 3)) agent(2).Kill();
    };
    ASSERT_TRUE(cluster().RunUntil([this] { return !agent(2).running(); }, kPlenty));
    ASSERT_TRUE(Agree(absl::Minutes(3))) << "seed " << seed << "\n" << cluster().Log();
    EXPECT_THAT(cluster().Training(), UnorderedElementsAre("agent-1", "agent-2"));
    EXPECT_THAT(cluster().ledger().violations(), IsEmpty()) << "seed " << seed;
  }
}

// F4
TEST_F(AgentFaultTest, KilledAfterItsReport_IsNotCounted) {
  Make(TwoOfThree()).Start();
  coordinator().on_send = [this](const coordinator::Send& send) {
    if (Is<Prepare>(send)) agent(2).Kill();
  };
  ASSERT_TRUE(Agree());
  EXPECT_EQ(cluster().LastRecord()->world_size, 4);
}

// F7
TEST_F(AgentFaultTest, StoppedBeyondTheLimit_IsEvictedAndComesBackInANewRound) {
  Make(TwoOfThree()).Start();
  ASSERT_TRUE(Agree());
  const int64_t first = cluster().ledger().last_round();
  agent(2).Stop();
  ASSERT_TRUE(Agree(absl::Seconds(30)));
  EXPECT_THAT(cluster().Training(), UnorderedElementsAre("agent-1", "agent-2"));
  EXPECT_GT(cluster().ledger().last_round(), first);
  agent(2).Continue();
  EXPECT_FALSE(cluster().Agreed());
  ASSERT_TRUE(Agree(absl::Seconds(60)));
  EXPECT_EQ(cluster().Training().size(), 3u);
}

// F9
TEST_F(AgentFaultTest, HalfOpenConnection_IsNoticedByTheMissingHeartbeats) {
  for (const auto [to, from] : {std::pair(true, true), {true, false}, {false, true}}) {
    Make(TwoOfThree()).Start();
    ASSERT_TRUE(Agree());
    if (to) cluster().network().Block(3, Network::kCoordinator);
    if (from) cluster().network().Block(Network::kCoordinator, 3);
    // Its loss is noticed, and the two others have a new record soon after.
    ASSERT_TRUE(cluster().RunUntil([this] { return cluster().LastRecord()->world_size == 4; },
                                   kNoticed * 2 + absl::Seconds(1)));
    cluster().network().Heal();
    ASSERT_TRUE(Agree());
    EXPECT_EQ(cluster().LastRecord()->world_size, 6);
  }
}

// F17
TEST_F(AgentFaultTest, SecondStartOfAnAgent_IsRefusedAndTheFirstGoesOn) {
  Make(AllOfThree());
  cluster().Start();
  cluster().Run(absl::Seconds(1));
  AgentHost& twin = cluster().AddAgent();
  twin.setup().config.hello.agent = "agent-3";
  twin.Start();
  ASSERT_TRUE(cluster().RunUntil([&] { return twin.finished().has_value(); }, kPlenty));
  EXPECT_THAT(twin.finished()->text, HasSubstr("10.0.0."));
  ASSERT_TRUE(cluster().RunUntil([this] { return cluster().LastRecord().has_value(); }, kPlenty));
  EXPECT_EQ(cluster().LastRecord()->world_size, 6);
}

TEST_F(AgentFaultTest, TwoAgentsWithOneNodeRank_SecondIsRefused) {
  Make(TwoOfThree());
  agent(0).setup().config.hello.node_rank = 0;
  agent(1).setup().config.hello.node_rank = 1;
  agent(2).setup().config.hello.node_rank = 1;
  cluster().Start();
  ASSERT_TRUE(cluster().RunUntil(
      [this] { return agent(1).finished().has_value() || agent(2).finished().has_value(); },
      kPlenty));
  const AgentHost& refused = agent(1).finished().has_value() ? agent(1) : agent(2);
  EXPECT_THAT(refused.finished()->text, HasSubstr("rank"));
  ASSERT_TRUE(Agree());
}

// F18
TEST_F(AgentFaultTest, TwoAgentsWithOneDevice_AreBothNamed) {
  Make(TwoOfThree());
  agent(2).setup().config.hello.devices[1].uuid = "SIM-1-0";
  cluster().Start();
  ASSERT_TRUE(cluster().RunUntil(
      [this] { return agent(0).finished().has_value() || agent(2).finished().has_value(); },
      kPlenty));
  EXPECT_TRUE(cluster().Said("SIM-1-0"));
  EXPECT_TRUE(cluster().Said("agent-1"));
  EXPECT_TRUE(cluster().Said("agent-3"));
}

// F19
TEST_F(AgentFaultTest, EveryMessageComesWithAnOldOne_NothingChanges) {
  Make(AllOfThree());
  for (int i = 0; i < 3; ++i) agent(i).setup().echo_percent = 100;
  cluster().Start();
  ASSERT_TRUE(Agree());
  agent(1).Kill();
  cluster().Run(absl::Seconds(10));
  agent(1).Start();
  ASSERT_TRUE(Agree());
  EXPECT_EQ(cluster().LastRecord()->world_size, 6);
}

// F21
TEST_F(AgentFaultTest, PartitionThatLeavesTheMinimum_CommitsAfterTheLastCall) {
  Make(TwoOfThree());
  cluster().network().Block(3, Network::kCoordinator);
  cluster().Start();
  ASSERT_TRUE(cluster().RunUntil([this] { return cluster().LastRecord().has_value(); }, kPlenty));
  EXPECT_EQ(cluster().LastRecord()->world_size, 4);
}

TEST_F(AgentFaultTest, PartitionBelowTheMinimum_EndsWithAList) {
  Make(AllOfThree());
  cluster().network().Block(2, Network::kCoordinator);
  cluster().network().Block(3, Network::kCoordinator);
  cluster().Start();
  ASSERT_TRUE(CoordinatorEnds());
  EXPECT_THAT(coordinator().finished()->text, HasSubstr("agent-2"));
  EXPECT_THAT(coordinator().finished()->text, HasSubstr("agent-3"));
}

TEST_F(AgentFaultTest, PartitionDuringTheLastCall_CommitsWithoutIt) {
  ClusterOptions options = TwoOfThree();
  options.coordinator.max_nodes = 4;
  options.coordinator.last_call = absl::Seconds(10);
  Make(options).Start();
  cluster().Run(absl::Seconds(1));
  cluster().network().Block(3, Network::kCoordinator);
  cluster().network().Block(Network::kCoordinator, 3);
  ASSERT_TRUE(cluster().RunUntil([this] { return cluster().LastRecord().has_value(); }, kPlenty));
  EXPECT_EQ(cluster().LastRecord()->world_size, 4);
}

// F22
TEST_F(AgentFaultTest, LateJoiner_WaitsForTheNextRound) {
  ClusterOptions options = TwoOfThree();
  options.coordinator.max_nodes = 4;
  Make(options).Start();
  ASSERT_TRUE(Agree());
  const int64_t first = cluster().ledger().last_round();
  cluster().AddAgent().Start();
  ASSERT_TRUE(
      cluster().RunUntil([this] { return cluster().LastRecord()->world_size == 8; }, kPlenty));
  EXPECT_GT(cluster().ledger().last_round(), first);
  EXPECT_TRUE(Agree());
}

TEST_F(AgentFaultTest, LeaverDuringTheCommit_AbortsTheRound) {
  Make(TwoOfThree()).Start();
  bool left = false;
  coordinator().on_send = [this, &left](const coordinator::Send& send) {
    if (!left && Is<Prepare>(send)) {
      left = true;
      agent(2).Drain(/*done=*/false);
    }
  };
  ASSERT_TRUE(AgentEnds(2));
  ASSERT_TRUE(Agree());
  EXPECT_EQ(cluster().LastRecord()->world_size, 4);
}

// F23, F31
TEST_F(AgentFaultTest, DeviceThatCannotTrain_EndsTheRunOrIsLeftOutAsAsked) {
  const auto one_fails = [](absl::string_view uuid, int64_t) { return uuid == "SIM-2-1" ? 0 : 8; };
  ClusterOptions options = AllOfThree();
  options.batch = one_fails;
  Make(options).Start();
  ASSERT_TRUE(CoordinatorEnds());
  EXPECT_THAT(coordinator().finished()->text, HasSubstr("SIM-2-1"));
  EXPECT_THAT(coordinator().finished()->text, HasSubstr("agent-2"));

  options.coordinator.failed_device = FailedDevicePolicy::kExclude;
  Make(options).Start();
  ASSERT_TRUE(cluster().RunUntil([this] { return cluster().LastRecord().has_value(); }, kPlenty));
  EXPECT_EQ(cluster().LastRecord()->world_size, 5);
  EXPECT_EQ(cluster().LastRecord()->minimum_batch, 8);
}

// F24
TEST_F(AgentFaultTest, LauncherThatClaimsAnotherWorld_IsNamedNotBelieved) {
  Make(AllOfThree());
  for (int i = 0; i < 3; ++i) {
    agent(i).setup().config.hello.launcher = {
        .launcher = "torchrun", .world_size = 3, .node_count = 3, .local_world_size = 2};
  }
  cluster().Start();
  ASSERT_TRUE(AgentEnds(0));
  EXPECT_THAT(agent(0).finished()->text, HasSubstr("3"));
  EXPECT_THAT(cluster().Training(), IsEmpty());
}

// F28
TEST_F(AgentFaultTest, DiskThatTakesNoRecord_StartsNobody) {
  Make(AllOfThree());
  agent(1).FailDisk(absl::ResourceExhaustedError("cannot write record.json: no space left"));
  cluster().Start();
  ASSERT_TRUE(CoordinatorEnds(absl::Minutes(5)) || coordinator().last_round().has_value());
  EXPECT_THAT(cluster().Training(), IsEmpty());
  EXPECT_TRUE(cluster().Said("no space left"));
}

// F30
TEST_F(AgentFaultTest, AgentThatIsToldToLeave_SaysSoAndTheOthersGoOnAtOnce) {
  Make(TwoOfThree()).Start();
  ASSERT_TRUE(Agree());
  agent(0).Drain(/*done=*/false);
  // A leave needs no liveness limit to be noticed.
  ASSERT_TRUE(cluster().RunUntil(
      [this] {
        const std::optional<Record> record = cluster().LastRecord();
        return record.has_value() && record->world_size == 4;
      },
      absl::Seconds(6)));
  EXPECT_TRUE(agent(0).finished().has_value());
}

TEST_F(AgentFaultTest, AgentWhoseJobIsDone_CausesNoNewRound) {
  Make(TwoOfThree()).Start();
  ASSERT_TRUE(Agree());
  const int64_t round = cluster().ledger().last_round();
  agent(0).Drain(/*done=*/true);
  cluster().Run(absl::Seconds(60));
  EXPECT_EQ(cluster().ledger().last_round(), round);
  EXPECT_THAT(cluster().Training(), UnorderedElementsAre("agent-2", "agent-3"));
}

// Elastic: what the issue promises of a loss.
TEST_F(AgentFaultTest, LossOfANode_NextRecordComesWithinASecondOfItsDetection) {
  Make(TwoOfThree()).Start();
  ASSERT_TRUE(Agree());
  const int64_t probes = agent(0).probes();
  agent(2).Stop();
  ASSERT_TRUE(cluster().RunUntil([this] { return cluster().Said("lost"); }, kNoticed));
  ASSERT_TRUE(cluster().RunUntil([this] { return cluster().Agreed(); }, absl::Seconds(1)));
  // From what is known: one question to the agent, no first probe again.
  EXPECT_EQ(agent(0).probes(), probes + 1);
}

}  // namespace
}  // namespace autobatch::sim
