// What happens to a cluster when something happens to its coordinator, to NCCL, or to its rules.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "tests/sim/fault_test_base.h"

namespace autobatch::sim {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CoordinatorFaultTest : public FaultTest {
 protected:
  // Kills the coordinator when it is about to send its n-th message of a kind.
  template <typename T>
  void KillAtSend(int n) {
    coordinator().on_send = [this, n, seen = 0](const coordinator::Send& send) mutable {
      if (Is<T>(send) && ++seen == n) coordinator().Kill();
    };
  }
};

// F5
TEST_F(CoordinatorFaultTest, KilledBeforeTheCommit_AgentsLeaveAndNobodyTrains) {
  Make(AllOfThree()).Start();
  KillAtSend<Commit>(1);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(AgentEnds(i));
    EXPECT_EQ(agent(i).finished()->exit_code, 8) << agent(i).finished()->text;
  }
  EXPECT_THAT(cluster().Training(), IsEmpty());
}

// F6
TEST_F(CoordinatorFaultTest, KilledAmongTheCommits_WhoHasNotSeenItRefuses) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    ClusterOptions options = AllOfThree();
    options.seed = seed;
    Make(options).Start();
    KillAtSend<Commit>(2);
    ASSERT_TRUE(cluster().RunUntil(
        [this] {
          int over = 0;
          for (int i = 0; i < 3; ++i) over += agent(i).finished().has_value() ? 1 : 0;
          return over >= 2;
        },
        kPlenty));
    EXPECT_LE(cluster().Training().size(), 1u);
    EXPECT_THAT(cluster().ledger().violations(), IsEmpty()) << "seed " << seed;
  }
}

TEST_F(CoordinatorFaultTest, RestartedAmongTheCommits_FinishesWhatItDecided) {
  Make(AllOfThree()).Start();
  KillAtSend<Commit>(2);
  ASSERT_TRUE(cluster().RunUntil([this] { return !coordinator().running(); }, kPlenty));
  coordinator().on_send = nullptr;
  cluster().Run(absl::Seconds(1));
  coordinator().Start();
  ASSERT_TRUE(cluster().RunUntil([this] { return cluster().Training().size() == 3; }, kPlenty));
}

TEST_F(CoordinatorFaultTest, RestartedWithOtherOptions_AllTrainOnANewRound) {
  Make(AllOfThree());
  coordinator().AskFor({{"--global-batch", "64"}});
  cluster().Start();
  ASSERT_TRUE(cluster().RunUntil([this] { return cluster().Training().size() == 3; }, kPlenty));
  const int64_t before = coordinator().last_round()->round;
  coordinator().Kill();
  coordinator().AskFor({{"--global-batch", "128"}});
  coordinator().Start();
  ASSERT_TRUE(cluster().RunUntil(
      [&] {
        return coordinator().last_round().has_value() && coordinator().last_round()->committed &&
               coordinator().last_round()->round > before && cluster().Training().size() == 3;
      },
      kPlenty));
  const int64_t after = coordinator().last_round()->round;
  cluster().Run(absl::Seconds(60));
  EXPECT_EQ(coordinator().last_round()->round, after) << "once is enough";
}

// F8
TEST_F(CoordinatorFaultTest, StoppedTwiceTheLimit_AgentsEndByTheirOwnClocks) {
  Make(AllOfThree());
  for (int i = 0; i < 3; ++i) agent(i).setup().first_probe = absl::Hours(1);
  cluster().Start();
  cluster().Run(absl::Seconds(20));
  coordinator().Stop();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(AgentEnds(i, kNoticed * 3));
    EXPECT_EQ(agent(i).finished()->exit_code, 8);
  }
}

// F15 (what a network that checks secrets leaves to see)
TEST_F(CoordinatorFaultTest, StrangerWithoutTheSecret_IsNotLetIn) {
  Make(AllOfThree());
  AgentHost& stranger = cluster().AddAgent(/*stranger=*/true);
  cluster().Start();
  ASSERT_TRUE(cluster().RunUntil([&] { return stranger.finished().has_value(); }, kPlenty));
  EXPECT_EQ(stranger.finished()->exit_code, 9);
  ASSERT_TRUE(Agree());
  EXPECT_EQ(cluster().LastRecord()->world_size, 6);
}

// F16
TEST_F(CoordinatorFaultTest, AgentOfAnotherVersion_IsToldBothVersions) {
  Make(TwoOfThree());
  agent(2).setup().config.hello.versions = {{.name = "autobatch", .value = "99.0"}};
  cluster().Start();
  ASSERT_TRUE(AgentEnds(2));
  EXPECT_THAT(agent(2).finished()->text, HasSubstr("99.0"));
}

TEST_F(CoordinatorFaultTest, AgentWithOtherSettings_IsToldWhichField) {
  Make(TwoOfThree());
  for (int i = 0; i < 3; ++i) {
    AgentHello& hello = agent(i).setup().config.hello;
    hello.config = {{.name = "optimizer", .value = i == 2 ? "adam" : "momentum"}};
    hello.config_digest = i == 2 ? "sha256:other" : "sha256:same";
  }
  // The first to come decides what the run's settings are.
  cluster().coordinator().Start();
  agent(0).Start();
  cluster().Run(absl::Seconds(1));
  agent(2).Start();
  ASSERT_TRUE(AgentEnds(2));
  EXPECT_THAT(agent(2).finished()->text, HasSubstr("optimizer"));
  EXPECT_THAT(agent(2).finished()->text, HasSubstr("adam"));
  EXPECT_THAT(agent(2).finished()->text, HasSubstr("momentum"));
}

// F27
TEST_F(CoordinatorFaultTest, AgentOfAnotherRun_IsNotJoined) {
  Make(TwoOfThree());
  agent(2).setup().config.hello.run_id = "another-run";
  cluster().Start();
  ASSERT_TRUE(AgentEnds(2));
  EXPECT_THAT(agent(2).finished()->text, HasSubstr("run"));
  ASSERT_TRUE(Agree());
  EXPECT_EQ(cluster().LastRecord()->world_size, 4);
}

// F28
TEST_F(CoordinatorFaultTest, DiskThatTakesNoState_CommitsNothing) {
  Make(AllOfThree());
  coordinator().FailDisk(absl::ResourceExhaustedError("cannot write state.json: no space left"));
  cluster().Start();
  ASSERT_TRUE(CoordinatorEnds());
  EXPECT_THAT(coordinator().finished()->text, HasSubstr("no space left"));
  EXPECT_NE(coordinator().finished()->exit_code, 0);
  EXPECT_THAT(cluster().Training(), IsEmpty());
}

// F29
TEST_F(CoordinatorFaultTest, NcclThatNeverAnswers_EndsByOurDeadlineAndTheReportsDecide) {
  ClusterOptions options = AllOfThree();
  options.coordinator.reduce = ReduceMode::kPrefer;
  options.coordinator.reduce_timeout = absl::Seconds(10);
  Make(options);
  agent(1).setup().reduce_hangs = true;
  cluster().Start();
  ASSERT_TRUE(Agree());

  options.coordinator.reduce = ReduceMode::kRequire;
  Make(options);
  agent(1).setup().reduce_hangs = true;
  cluster().Start();
  ASSERT_TRUE(CoordinatorEnds(absl::Minutes(5)));
  EXPECT_EQ(coordinator().finished()->exit_code, 7);
  EXPECT_THAT(cluster().Training(), IsEmpty());
}

TEST_F(CoordinatorFaultTest, NcclThatAgrees_TheRoundIsCommitted) {
  ClusterOptions options = AllOfThree();
  options.coordinator.reduce = ReduceMode::kRequire;
  Make(options).Start();
  ASSERT_TRUE(Agree());
}

TEST_F(CoordinatorFaultTest, NcclThatSaysAnotherMinimum_EndsTheRoundWithBothValues) {
  ClusterOptions options = AllOfThree();
  options.coordinator.reduce = ReduceMode::kPrefer;
  options.batch = [](absl::string_view, int64_t) { return 48; };
  Make(options);
  agent(1).setup().corrupt = [](int64_t minimum) { return minimum - 1; };
  cluster().Start();
  ASSERT_TRUE(CoordinatorEnds());
  EXPECT_EQ(coordinator().finished()->exit_code, 7);
  EXPECT_THAT(coordinator().finished()->text, HasSubstr("47"));
  EXPECT_THAT(coordinator().finished()->text, HasSubstr("48"));
  EXPECT_THAT(cluster().Training(), IsEmpty());
}

// F30
TEST_F(CoordinatorFaultTest, CoordinatorThatIsToldToLeave_TellsEverybody) {
  Make(AllOfThree());
  for (int i = 0; i < 3; ++i) agent(i).setup().first_probe = absl::Hours(1);
  cluster().Start();
  cluster().Run(absl::Seconds(20));
  coordinator().Drain();
  ASSERT_TRUE(CoordinatorEnds(absl::Seconds(5)));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(AgentEnds(i, absl::Seconds(5)));
    EXPECT_THAT(agent(i).finished()->exit_code, AnyOf(7, 8));
  }
}

// F32
TEST_F(CoordinatorFaultTest, RestartStorm_EveryRoundIsNewAndOneWorldIsLeft) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    ClusterOptions options = TwoOfThree();
    options.seed = seed;
    options.coordinator.last_call = absl::Seconds(1);
    Make(options);
    for (int i = 0; i < 3; ++i) agent(i).setup().first_probe = absl::Seconds(1);
    cluster().Start();
    for (int restart = 0; restart < 20; ++restart) {
      AgentHost& one = agent(static_cast<int>(Pick(cluster().random(), 0, 2)));
      one.Kill();
      cluster().Run(PickDuration(cluster().random(), absl::Milliseconds(1), absl::Seconds(5)));
      one.Start();
      cluster().Run(PickDuration(cluster().random(), absl::Milliseconds(1), absl::Seconds(5)));
    }
    ASSERT_TRUE(Agree()) << "seed " << seed << "\n" << cluster().Log();
    EXPECT_THAT(cluster().ledger().violations(), IsEmpty()) << "seed " << seed;
  }
}

// A week of a quiet cluster costs what happens in it.
TEST_F(CoordinatorFaultTest, QuietHour_NeedsNoNewRound) {
  Make(AllOfThree()).Start();
  ASSERT_TRUE(Agree());
  cluster().Run(absl::Hours(1));
  EXPECT_TRUE(cluster().Agreed());
  EXPECT_EQ(cluster().ledger().commits(), 1);
}

}  // namespace
}  // namespace autobatch::sim
