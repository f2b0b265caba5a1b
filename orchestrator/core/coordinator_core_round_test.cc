// What becomes of the answers, of the minimum by NCCL, and of what is on the disk.

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "orchestrator/core/coordinator_core.h"
#include "orchestrator/core/coordinator_harness.h"
#include "orchestrator/core/exit_codes.h"
#include "orchestrator/wire/message_rules.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A run of two whose config was changed, and its connections.
struct Pair : CoordinatorHarness {
  explicit Pair(CoordinatorConfig config = CoordinatorHarness::TestConfig(),
                std::optional<CoordinatorState> restored = std::nullopt,
                RecordMaker make_record = TestRecord, int devices = 1)
      : CoordinatorHarness(std::move(config), std::move(restored), std::move(make_record)),
        a(Join("a", devices)),
        b(Join("b", devices)) {}
  ConnectionId a;
  ConnectionId b;
};

CoordinatorConfig With(FailedDevicePolicy policy, int64_t min_nodes) {
  CoordinatorConfig config = CoordinatorHarness::TestConfig(min_nodes);
  config.failed_device = policy;
  return config;
}

CoordinatorConfig With(ReduceMode reduce) {
  CoordinatorConfig config = CoordinatorHarness::TestConfig();
  config.reduce = reduce;
  return config;
}

const DeviceOutcome kCrashed = {
    .uuid = "GPU-b-0", .failure = FailureKind::kCrashed, .message = "killed by signal 9"};

// ---- devices without a batch

TEST(CoordinatorCoreRoundTest, DeviceWithoutBatch_EndsTheRunByDefault) {
  Pair run;
  run.Report(run.a, 8);
  run.Say(run.b, Report{.devices = {kCrashed}});
  ASSERT_TRUE(run.finished.has_value());
  EXPECT_EQ(run.finished->exit_code, kExitCannotRun);
  EXPECT_THAT(run.finished->text, AllOf(HasSubstr("GPU-b-0 of b"), HasSubstr("signal 9")));
  EXPECT_THAT(run.Took<Abort>(run.a)->reason, HasSubstr("GPU-b-0"));
  EXPECT_FALSE(run.rounds.at(0).committed);
}

TEST(CoordinatorCoreRoundTest, NothingThatFits_HasItsOwnExitCode) {
  Pair run;
  DeviceOutcome full = kCrashed;
  full.failure = FailureKind::kOutOfMemory;
  run.Report(run.a, 8);
  run.Say(run.b, Report{.devices = {full}});
  EXPECT_EQ(run.finished->exit_code, kExitNothingFits);
}

TEST(CoordinatorCoreRoundTest, DeviceWithoutBatch_IsLeftOutByPolicy) {
  Pair run(With(FailedDevicePolicy::kExclude, 2), std::nullopt, TestRecord, 2);
  run.Report(run.a, 8);
  run.Say(run.b, Report{.devices = {kCrashed, {.uuid = "GPU-b-1", .batch = 6}}});
  EXPECT_EQ(run.Took<Prepare>(run.b)->digest, "round-1-batch-6-ranks-3");
  EXPECT_THAT(run.said, HasSubstr("left out, by policy: GPU-b-0 of b"));
}

TEST(CoordinatorCoreRoundTest, DeviceThatWasNotReported_HasNoBatch) {
  Pair run(CoordinatorHarness::TestConfig(), std::nullopt, TestRecord, 2);
  run.Report(run.a, 8);
  run.Say(run.b, Report{.devices = {{.uuid = "GPU-b-1", .batch = 6}}});
  EXPECT_THAT(run.finished->text, HasSubstr("GPU-b-0 of b: no batch, the agent did not report"));
}

TEST(CoordinatorCoreRoundTest, AgentWithoutAnyBatch_IsLeftOutByPolicyAndStaysOut) {
  Pair run(With(FailedDevicePolicy::kExclude, 1));
  run.Report(run.a, 8);
  run.Say(run.b, Report{.devices = {kCrashed}});
  EXPECT_EQ(run.Took<Prepare>(run.a)->digest, "round-1-batch-8-ranks-1");
  EXPECT_FALSE(run.Took<Prepare>(run.b).has_value());
  EXPECT_FALSE(run.Took<Abort>(run.b)->over);
  run.Prepare(run.a);
  run.Commit(run.a);
  EXPECT_EQ(run.confirmed.size(), 1u);
  run.Took<Collect>(run.a);
  run.Pass(absl::Seconds(30), {run.a, run.b});
  EXPECT_FALSE(run.Took<Collect>(run.a).has_value()) << "it is no late joiner";
}

TEST(CoordinatorCoreRoundTest, AgentThatWasLeftOutAndComesBack_IsNotWaitedFor) {
  CoordinatorConfig config = With(FailedDevicePolicy::kExclude, 2);
  config.max_nodes = 4;
  CoordinatorHarness run(config);
  const auto [a, b, c] = run.JoinAll("a", "b", "c");
  run.Report({a, c}, 8);
  run.Say(b, Report{.devices = {kCrashed}});
  run.Pass(config.last_call, {a, b, c});
  EXPECT_EQ(run.Took<Prepare>(a)->digest, "round-1-batch-8-ranks-2");
  run.Prepare({a, c});
  run.Commit({a, c});
  run.Say(c, Leave{.reason = "SIGTERM"});
  const ConnectionId d = run.Join("d");
  run.Pass(config.last_call, {a, b, d});
  ASSERT_TRUE(run.Took<Collect>(d).has_value());
  run.Break(b);
  run.Join("b");
  run.Report({a, d}, 8);
  const auto prepare = run.Took<Prepare>(a);
  ASSERT_TRUE(prepare.has_value()) << "nobody else has anything to report";
  EXPECT_EQ(prepare->digest, "round-2-batch-8-ranks-2");
}

TEST(CoordinatorCoreRoundTest, TooFewAgentsWithABatch_EndTheRun) {
  Pair run(With(FailedDevicePolicy::kExclude, 2));
  run.Report(run.a, 8);
  run.Say(run.b, Report{.devices = {kCrashed}});
  EXPECT_EQ(run.finished->exit_code, kExitNoAgreement);
  EXPECT_THAT(run.finished->text, HasSubstr("1 of at least 2; missing: b"));
}

TEST(CoordinatorCoreRoundTest, LaunchersClaimAgainstDevices_EndsTheRunNamingBoth) {
  CoordinatorHarness run;
  AgentHello a = TestHello("a", 4);
  a.launcher = {.launcher = "kubeflow", .world_size = 2, .node_count = 2};
  AgentHello b = TestHello("b", 4);
  b.launcher = a.launcher;
  const ConnectionId first = run.Join(a);
  const ConnectionId second = run.Join(b);
  run.Report({first, second}, 8);
  EXPECT_EQ(run.finished->exit_code, kExitNoAgreement);
  EXPECT_THAT(run.finished->text, AllOf(HasSubstr("WORLD_SIZE 2"), HasSubstr("8 ranks"),
                                        HasSubstr("seems to count nodes")));
}

// ---- the plan

TEST(CoordinatorCoreRoundTest, WishThatThisWorldCannotHave_WaitsForAnother) {
  CoordinatorConfig config = With(FailedDevicePolicy::kFail, 2);
  config.max_nodes = 3;
  config.last_call = absl::ZeroDuration();
  Pair run(config, std::nullopt, [](const RoundFacts& facts) -> absl::StatusOr<AgreedRecord> {
    if (facts.members.size() == 2) return absl::FailedPreconditionError("2 ranks cannot have 9");
    return TestRecord(facts);
  });
  run.Report(run.a, 3);
  run.Report(run.b, 3);
  EXPECT_THAT(run.Took<Abort>(run.a)->reason, HasSubstr("2 ranks cannot have 9"));
  run.Took<Collect>(run.a);
  run.Pass(absl::Seconds(60), {run.a, run.b});
  EXPECT_FALSE(run.Took<Collect>(run.a).has_value()) << "the same world has the same answer";
  const ConnectionId c = run.Join("c");
  EXPECT_EQ(run.Took<Collect>(run.a)->round, 2);
  run.RunRound({run.a, run.b, c}, 3);
  EXPECT_TRUE(run.rounds.at(1).committed);
}

TEST(CoordinatorCoreRoundTest, WishThatNoWorldCanHave_EndsTheRun) {
  Pair run(CoordinatorHarness::TestConfig(), std::nullopt,
           [](const RoundFacts&) -> absl::StatusOr<AgreedRecord> {
             return absl::InvalidArgumentError("global_batch: 0");
           });
  run.Report(run.a, 3);
  run.Report(run.b, 3);
  EXPECT_EQ(run.finished->exit_code, kExitNoAgreement);
  EXPECT_THAT(run.finished->text, HasSubstr("global_batch: 0"));
}

TEST(CoordinatorCoreRoundTest, RecordThatIsTooLarge_EndsTheRunSayingSo) {
  Pair run(CoordinatorHarness::TestConfig(), std::nullopt,
           [](const RoundFacts&) -> absl::StatusOr<AgreedRecord> {
             return AgreedRecord{.text = std::string(kMaxRecord + 1, 'x'), .digest = "d"};
           });
  run.Report(run.a, 3);
  run.Report(run.b, 3);
  EXPECT_EQ(run.finished->exit_code, kExitNoAgreement);
  EXPECT_THAT(run.finished->text, HasSubstr("ask for fewer world sizes"));
}

TEST(CoordinatorCoreRoundTest, SharesOfDevices_ComeBeforeTheRecord) {
  Pair run(CoordinatorHarness::TestConfig(), std::nullopt, [](const RoundFacts& facts) {
    absl::StatusOr<AgreedRecord> record = TestRecord(facts);
    record->shares = {{.node = "b", .shares = {{.uuid = "GPU-b-0", .batch = 5}}},
                      {.node = "a", .shares = {{.uuid = "GPU-a-0", .batch = 3}}}};
    return record;
  });
  run.Report(run.a, 3);
  run.Report(run.b, 5);
  EXPECT_EQ(run.Took<Grants>(run.a)->devices.at(0).batch, 3);
  const std::vector<Message>& to_b = run.inbox[run.b];
  ASSERT_GE(to_b.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<Grants>(to_b[to_b.size() - 2]));
  EXPECT_TRUE(std::holds_alternative<Prepare>(to_b.back()));
}

// ---- the minimum by NCCL

TEST(CoordinatorCoreRoundTest, Nccl_IsAskedBeforeTheRecordAndMustAgree) {
  Pair run(With(ReduceMode::kRequire), std::nullopt, TestRecord, 2);
  run.Report(run.a, 8);
  run.Report(run.b, 4);
  const auto root = run.Took<Reduce>(run.a);
  ASSERT_TRUE(root.has_value());
  EXPECT_EQ(root->unique_id, "");
  EXPECT_FALSE(run.Took<Reduce>(run.b).has_value());
  run.Say(run.a, ReduceId{.attempt = 1, .unique_id = "00ff"});
  EXPECT_EQ(run.Took<Reduce>(run.a)->unique_id, "00ff");
  const auto reduce = run.Took<Reduce>(run.b);
  EXPECT_EQ(reduce->rank_base, 2);
  EXPECT_EQ(reduce->world, 4);
  run.Say(run.a, ReduceResult{.attempt = 1, .minimum = 4});
  EXPECT_FALSE(run.Took<Prepare>(run.a).has_value());
  run.Say(run.b, ReduceResult{.attempt = 1, .minimum = 4});
  EXPECT_TRUE(run.Took<Prepare>(run.a).has_value());
}

TEST(CoordinatorCoreRoundTest, AgentOutsideNccl_IsRefusedOnlyWhereAllMustBeIn) {
  AgentHello inside = TestHello("a");
  inside.config.push_back({"nccl.nccl_version", "2.28.9"});
  inside.config_digest = "with-nccl";
  for (const ReduceMode mode : {ReduceMode::kOff, ReduceMode::kPrefer, ReduceMode::kRequire}) {
    for (const bool inside_first : {true, false}) {
      CoordinatorHarness run(With(mode));
      const ConnectionId first = run.Join(inside_first ? inside : TestHello("b"));
      const ConnectionId second = run.Join(inside_first ? TestHello("b") : inside);
      if (mode == ReduceMode::kRequire) {
        const auto refuse = run.Took<Refuse>(second);
        ASSERT_TRUE(refuse.has_value());
        EXPECT_EQ(refuse->code, RefuseCode::kConfig);
        EXPECT_THAT(refuse->reason, HasSubstr("b takes no part in a minimum by NCCL"));
        continue;
      }
      run.Pass(absl::Seconds(5), {first, second});
      run.Report(inside_first ? first : second, 8);
      run.Report(inside_first ? second : first, 4);
      EXPECT_FALSE(run.Took<Reduce>(first).has_value());
      EXPECT_TRUE(run.Took<Prepare>(first).has_value());
      EXPECT_TRUE(run.Took<Prepare>(second).has_value());
      if (mode != ReduceMode::kPrefer) continue;
      EXPECT_THAT(run.said, HasSubstr("the reports decide alone: b takes no part in it"));
    }
  }
}

TEST(CoordinatorCoreRoundTest, NcclThatDiffers_EndsTheRunWithBothValues) {
  for (const ReduceMode mode : {ReduceMode::kRequire, ReduceMode::kPrefer}) {
    Pair run(With(mode));
    run.Report(run.a, 8);
    run.Report(run.b, 4);
    run.Say(run.a, ReduceId{.attempt = 1, .unique_id = "00ff"});
    run.Say(run.b, ReduceResult{.attempt = 1, .minimum = 8});
    ASSERT_TRUE(run.finished.has_value());
    EXPECT_EQ(run.finished->exit_code, kExitNoAgreement);
    EXPECT_THAT(run.finished->text,
                AllOf(HasSubstr("4 by the reports"), HasSubstr("8 by NCCL on b")));
    EXPECT_FALSE(run.Took<Prepare>(run.a).has_value());
  }
}

TEST(CoordinatorCoreRoundTest, NcclThatFails_IsTriedUnderANewIdAndThenByMode) {
  for (const ReduceMode mode : {ReduceMode::kRequire, ReduceMode::kPrefer}) {
    Pair run(With(mode));
    run.Report(run.a, 8);
    run.Report(run.b, 4);
    run.Say(run.a, ReduceId{.attempt = 1, .unique_id = "00ff"});
    run.Took<Reduce>(run.a);
    run.Say(run.b, ReduceResult{.attempt = 1, .failure = "no NCCL: libnccl.so.2 not found"});
    EXPECT_EQ(run.Took<Reduce>(run.a)->attempt, 2);
    // One rank never calls init: our own limit, and its name.
    run.Say(run.a, ReduceId{.attempt = 2, .unique_id = "00fe"});
    run.Say(run.a, ReduceResult{.attempt = 2, .minimum = 4});
    run.Pass(absl::Seconds(121), {run.a, run.b});
    if (mode == ReduceMode::kRequire) {
      EXPECT_EQ(run.finished->exit_code, kExitNoAgreement);
      EXPECT_THAT(run.finished->text, HasSubstr("within 2m from b"));
    } else {
      EXPECT_FALSE(run.finished.has_value());
      EXPECT_EQ(run.Took<Prepare>(run.a)->digest, "round-1-batch-4-ranks-2");
      EXPECT_THAT(run.said, HasSubstr("the reports decide alone"));
    }
  }
}

TEST(CoordinatorCoreRoundTest, LossInAReduction_AbortsTheRound) {
  CoordinatorConfig config = With(ReduceMode::kRequire);
  config.min_nodes = 1;
  Pair run(config);
  run.Report(run.a, 8);
  run.Report(run.b, 4);
  run.Say(run.b, Leave{.reason = "SIGTERM"});
  EXPECT_TRUE(run.Took<Abort>(run.a).has_value());
  EXPECT_EQ(run.Took<Collect>(run.a)->round, 2);
}

TEST(CoordinatorCoreRoundTest, CommunicatorLargerThanAssumed_IsConfirmedOnceMore) {
  Pair run(With(ReduceMode::kRequire));
  const auto report = [&](ConnectionId connection, const char* uuid, int64_t batch, int64_t held) {
    run.Say(connection,
            Report{.devices = {{.uuid = uuid, .batch = batch}}, .communicator_bytes = held});
  };
  const auto reduce = [&](int64_t minimum, int64_t bytes) {
    run.Say(run.a, ReduceId{.attempt = 1, .unique_id = "00ff"});
    run.Say(run.a, ReduceResult{.attempt = 1, .minimum = minimum, .communicator_bytes = 100});
    run.Say(run.b, ReduceResult{.attempt = 1, .minimum = minimum, .communicator_bytes = bytes});
  };
  report(run.a, "GPU-a-0", 8, 1000);
  report(run.b, "GPU-b-0", 8, 1000);
  run.Took<Collect>(run.a);
  reduce(8, 1500);
  EXPECT_TRUE(run.Took<Abort>(run.a).has_value());
  const auto again = run.Took<Collect>(run.a);
  EXPECT_EQ(again->round, 2);
  EXPECT_EQ(again->communicator_bytes, 1500);
  report(run.a, "GPU-a-0", 7, 1500);
  report(run.b, "GPU-b-0", 7, 1500);
  reduce(7, 1501);
  EXPECT_EQ(run.Took<Prepare>(run.a)->digest, "round-2-batch-7-ranks-2") << "once, not for ever";
}

// ---- what is on the disk

TEST(CoordinatorCoreRoundTest, NothingIsSaid_BeforeItIsOnTheDisk) {
  CoordinatorHarness run;
  run.hold_writes = true;
  const auto [a, b] = run.JoinAll("a", "b");
  EXPECT_FALSE(run.Took<Collect>(a).has_value());
  EXPECT_EQ(run.held.at(0).state.round, 1);
  run.Write();
  EXPECT_TRUE(run.Took<Collect>(a).has_value());
  run.Report({a, b}, 8);
  EXPECT_TRUE(run.Took<Prepare>(a).has_value()) << "which whoever takes over knows nothing of";
  run.Prepare({a, b});
  EXPECT_FALSE(run.Took<Commit>(a).has_value());
  EXPECT_EQ(run.held.at(0).state.committed_round, 1);
  EXPECT_EQ(run.held.at(0).state.members.size(), 2u);
  ASSERT_EQ(run.foreseen.size(), 1u);
  EXPECT_EQ(run.foreseen[0].committed_digest, run.held.at(0).state.committed_digest);
  EXPECT_EQ(run.foreseen[0].members.size(), 2u);
  run.Write();
  EXPECT_TRUE(run.Took<Commit>(a).has_value());
}

TEST(CoordinatorCoreRoundTest, DiskThatIsFull_EndsTheRun) {
  CoordinatorHarness run;
  run.hold_writes = true;
  const ConnectionId a = run.Join("a");
  run.Join("b");
  run.Write(absl::ResourceExhaustedError("no space left on device"));
  EXPECT_EQ(run.finished->exit_code, kExitInternal);
  EXPECT_THAT(run.finished->text, HasSubstr("no space left"));
  EXPECT_EQ(run.Took<Abort>(a)->exit_code, kExitPeerLost);
}

TEST(CoordinatorCoreRoundTest, Restart_NeverUsesARoundAgain) {
  Pair run(CoordinatorHarness::TestConfig(), CoordinatorState{.run_id = "r", .round = 41});
  EXPECT_EQ(run.Took<Collect>(run.a)->round, 42);
}

TEST(CoordinatorCoreRoundTest, AgentThatHasSeenMore_RaisesTheRound) {
  CoordinatorHarness run;
  AgentHello a = TestHello("a");
  a.round = 17;
  const ConnectionId first = run.Join(a);
  run.Join("b");
  EXPECT_EQ(run.Took<Collect>(first)->round, 18);
}

CoordinatorState Committed41() {
  return {.run_id = "r",
          .round = 41,
          .committed_round = 41,
          .committed_digest = "d41",
          .members = {{"a", "a.1"}, {"b", "b.1"}}};
}

AgentHello Knows(AgentHello hello, const char* prepared, const char* committed) {
  hello.round = 41;
  hello.prepared_digest = prepared;
  hello.committed_digest = committed;
  return hello;
}

TEST(CoordinatorCoreRoundTest, RestartBetweenTwoCommits_SendsTheOtherOne) {
  CoordinatorHarness run(CoordinatorHarness::TestConfig(), Committed41());
  const ConnectionId a = run.Join(Knows(TestHello("a"), "d41", "d41"));
  const ConnectionId b = run.Join(Knows(TestHello("b"), "d41", ""));
  EXPECT_EQ(run.Took<Welcome>(a)->standing_digest, "d41");
  EXPECT_EQ(run.Took<Welcome>(b)->standing_digest, "d41");
  EXPECT_FALSE(run.Took<Commit>(a).has_value());
  EXPECT_EQ(run.Took<Commit>(b)->digest, "d41");
  run.Say(b, Committed{.digest = "d41"});
  ASSERT_EQ(run.confirmed.size(), 1u);
  EXPECT_EQ(run.confirmed[0].confirmed.size(), 2u);
  run.Pass(absl::Seconds(60), {a, b});
  EXPECT_FALSE(run.Took<Collect>(a).has_value()) << "the record stands";
  EXPECT_TRUE(run.writes.empty());
}

// ---- restarted with other options

CoordinatorState Committed41With(int64_t global_batch) {
  CoordinatorState state = Committed41();
  state.min_nodes = state.max_nodes = 2;
  state.options = {{"--global-batch", absl::StrCat(global_batch)}};
  return state;
}

CoordinatorConfig ConfigWith(int64_t global_batch, int64_t min_nodes = 2, int64_t max_nodes = 2) {
  CoordinatorConfig config = CoordinatorHarness::TestConfig(min_nodes, max_nodes);
  config.options = {{"--global-batch", absl::StrCat(global_batch)}};
  return config;
}

TEST(CoordinatorCoreRoundTest, RestartWithOtherOptions_NamesThemAndBeginsANewRound) {
  CoordinatorHarness run(ConfigWith(1024), Committed41With(512));
  const ConnectionId a = run.Join(Knows(TestHello("a"), "d41", "d41"));
  EXPECT_THAT(run.said, HasSubstr("options than those of round 41: --global-batch: 512 -> 1024"));
  EXPECT_FALSE(run.Took<Collect>(a).has_value()) << "the other member has time to come back";
  const ConnectionId b = run.Join(Knows(TestHello("b"), "d41", "d41"));
  EXPECT_EQ(run.Took<Collect>(a)->round, 42);
  run.Report({a, b}, 8);
  run.Prepare({a, b});
  run.Pass(absl::Seconds(2), {a, b});  // Others may hold a lease of the former coordinator.
  run.Commit({a, b});
  const CoordinatorState& state = run.writes.back().state;
  EXPECT_EQ(state.committed_round, 42);
  EXPECT_EQ(state.options.at(0).value, "1024");
  run.Pass(absl::Seconds(60), {a, b});
  EXPECT_FALSE(run.Took<Collect>(a).has_value()) << "once is enough";
}

TEST(CoordinatorCoreRoundTest, RestartWithTheSameOptions_LetsTheRecordStand) {
  CoordinatorHarness run(ConfigWith(512), Committed41With(512));
  const ConnectionId a = run.Join(Knows(TestHello("a"), "d41", "d41"));
  const ConnectionId b = run.Join(Knows(TestHello("b"), "d41", "d41"));
  run.Pass(absl::Seconds(60), {a, b});
  EXPECT_FALSE(run.Took<Collect>(a).has_value());
  EXPECT_THAT(run.said, Not(HasSubstr("options")));
}

// A higher limit is for those who come later: nobody who trains is disturbed.
TEST(CoordinatorCoreRoundTest, RestartWithLimitsThatItsNodesKeep_LetsTheRecordStand) {
  CoordinatorHarness run(ConfigWith(512, 1, 3), Committed41With(512));
  const ConnectionId a = run.Join(Knows(TestHello("a"), "d41", "d41"));
  const ConnectionId b = run.Join(Knows(TestHello("b"), "d41", "d41"));
  EXPECT_THAT(run.said, AllOf(HasSubstr("--min-nodes: 2 -> 1"), HasSubstr("--max-nodes: 2 -> 3")));
  run.Pass(absl::Seconds(60), {a, b});
  EXPECT_FALSE(run.Took<Collect>(a).has_value());
  const ConnectionId c = run.Join("c");
  EXPECT_EQ(run.Took<Collect>(c)->round, 42);
}

TEST(CoordinatorCoreRoundTest, RestartWithFewerNodesThanAreThere_BeginsARoundOfSoMany) {
  CoordinatorHarness run(ConfigWith(512, 1, 1), Committed41With(512));
  const ConnectionId a = run.Join(Knows(TestHello("a"), "d41", "d41"));
  run.Join(Knows(TestHello("b"), "d41", "d41"));
  EXPECT_EQ(run.Took<Collect>(a)->round, 42);
  EXPECT_THAT(run.said, HasSubstr("round 42 begins: 1 node"));
}

TEST(CoordinatorCoreRoundTest, RestartWithMoreNodesThanAreThere_WaitsForThem) {
  CoordinatorHarness run(ConfigWith(512, 3, 3), Committed41With(512));
  const ConnectionId a = run.Join(Knows(TestHello("a"), "d41", "d41"));
  const ConnectionId b = run.Join(Knows(TestHello("b"), "d41", "d41"));
  run.Pass(absl::Seconds(10), {a, b});
  EXPECT_FALSE(run.Took<Collect>(a).has_value());
  EXPECT_THAT(run.said, HasSubstr("waiting for nodes: 2 of at least 3"));
  run.Join("c");
  EXPECT_EQ(run.Took<Collect>(a)->round, 42);
}

TEST(CoordinatorCoreRoundTest, RestartWithoutAMember_BeginsANewRoundOnceItIsLost) {
  CoordinatorConfig config = With(FailedDevicePolicy::kFail, 1);
  CoordinatorHarness run(config, Committed41());
  const ConnectionId a = run.Join(Knows(TestHello("a"), "d41", "d41"));
  run.Pass(absl::Seconds(4), {a});
  EXPECT_FALSE(run.Took<Collect>(a).has_value());
  run.Pass(absl::Seconds(2), {a});
  EXPECT_EQ(run.Took<Collect>(a)->round, 42);
}

TEST(CoordinatorCoreRoundTest, RestartWithADecisionThatWasCalledOff_BeginsANewRound) {
  CoordinatorHarness run(CoordinatorHarness::TestConfig(), Committed41());
  const ConnectionId a = run.Join(Knows(TestHello("a"), "", ""));
  const ConnectionId b = run.Join(Knows(TestHello("b"), "", ""));
  EXPECT_FALSE(run.Took<Commit>(a).has_value());
  EXPECT_EQ(run.Took<Collect>(b)->round, 42);
}

// It was given up before the coordinator was started anew, which has forgotten that.
TEST(CoordinatorCoreRoundTest, AgentOfAnEarlierRound_IsToldThatItsRecordIsOver) {
  CoordinatorHarness run(CoordinatorHarness::TestConfig(), Committed41());
  const ConnectionId old = run.Join(Knows(TestHello("c"), "d40", "d40"));
  EXPECT_EQ(run.Took<Welcome>(old)->standing_digest, "");
  AgentHello anew = Knows(TestHello("b"), "d41", "d41");
  anew.incarnation = "b.2";
  EXPECT_EQ(run.Took<Welcome>(run.Join(anew))->standing_digest, "") << "no member of it";
}

TEST(CoordinatorCoreRoundTest,
     MemberOfTheLastRoundThatComesBackTooLate_IsPutOutBeforeTheNextCommit) {
  CoordinatorState before = Committed41();
  before.round = 42;  // which was begun, and got no further
  CoordinatorConfig config = CoordinatorHarness::TestConfig(2, 3);
  CoordinatorHarness run(config, before);
  const auto [c, d] = run.JoinAll("c", "d");
  run.Pass(config.last_call, {c, d});
  run.Report({c, d}, 8);
  const ConnectionId a = run.Join(Knows(TestHello("a"), "d41", "d41"));
  EXPECT_EQ(run.Took<Welcome>(a)->standing_digest, "d41");
  run.Prepare({c, d});
  EXPECT_EQ(run.Took<Refuse>(a)->code, RefuseCode::kStaleRound);
  run.Pass(absl::Milliseconds(1900), {c, d});
  EXPECT_FALSE(run.Took<Commit>(c).has_value()) << "a's lease runs";
  run.Pass(absl::Milliseconds(200), {c, d});
  EXPECT_EQ(run.Took<Commit>(c)->round, 43);
}

TEST(CoordinatorCoreRoundTest, MemberThatIsLeftOut_HasNoRecordAnyMore) {
  CoordinatorConfig config = With(FailedDevicePolicy::kExclude, 1);
  config.max_nodes = 3;
  Pair run(config);
  run.Pass(config.last_call, {run.a, run.b});
  run.RunRound({run.a, run.b});
  ASSERT_EQ(run.rounds.size(), 1u);
  const ConnectionId c = run.Join("c");
  run.Report(run.a, 8);
  run.Report(c, 8);
  run.Say(run.b, Report{.devices = {kCrashed}});
  run.Prepare(run.a);
  run.Prepare(c);
  EXPECT_EQ(run.Took<Refuse>(run.b)->code, RefuseCode::kStaleRound);
  EXPECT_EQ(run.rounds.size(), 1u) << "b's lease runs";
  run.Pass(absl::Milliseconds(2100), {run.a, c});
  EXPECT_EQ(run.rounds.size(), 2u);
}

TEST(CoordinatorCoreRoundTest, RestartOfAnAgentMeanwhile_IsALoss) {
  CoordinatorHarness run(CoordinatorHarness::TestConfig(), Committed41());
  const ConnectionId a = run.Join(Knows(TestHello("a"), "d41", "d41"));
  AgentHello anew = TestHello("b");
  anew.incarnation = "b.2";
  const ConnectionId b = run.Join(anew);
  EXPECT_EQ(run.Took<Collect>(a)->round, 42);
  EXPECT_EQ(run.Took<Collect>(b)->round, 42);
}

}  // namespace
}  // namespace autobatch
