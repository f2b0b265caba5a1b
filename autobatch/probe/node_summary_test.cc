#include "autobatch/probe/node_summary.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DeviceResult Confirmed(const std::string& uuid, int64_t batch) {
  return {.device = {.uuid = uuid}, .status = ResultStatus::kConfirmed, .confirmed_batch = batch};
}

DeviceResult Failed(const std::string& uuid, FailureKind kind) {
  return {.device = {.uuid = uuid}, .failure = Failure{.kind = kind}};
}

NodeReport Summarized(std::vector<DeviceResult> devices, const ProbeSpec& spec = {}) {
  NodeReport report{.devices = std::move(devices)};
  Summarize(spec, report);
  return report;
}

TEST(SummarizeTest, UnlikeDevices_GiveTheLeastAndWhatItCosts) {
  const NodeReport report =
      Summarized({Confirmed("GPU-a", 64), Confirmed("GPU-b", 24), Confirmed("GPU-c", 48)});
  EXPECT_EQ(report.minimum_batch, 24);
  EXPECT_EQ(report.minimum_device, "GPU-b");
  EXPECT_EQ(report.minimum_without_it, 48);
  EXPECT_EQ(report.exit_code, kExitOk);
}

TEST(SummarizeTest, OneDevice_HasNoMinimumWithoutIt) {
  const NodeReport report = Summarized({Confirmed("GPU-a", 64)});
  EXPECT_EQ(report.minimum_batch, 64);
  EXPECT_EQ(report.minimum_without_it, std::nullopt);
}

TEST(SummarizeTest, DeviceWithoutBatch_LeavesTheNodeWithoutMinimum) {
  const NodeReport report =
      Summarized({Confirmed("GPU-a", 64), Failed("GPU-b", FailureKind::kOutOfMemory)});
  EXPECT_EQ(report.minimum_batch, std::nullopt);
  EXPECT_EQ(report.minimum_device, "GPU-b");
  EXPECT_EQ(report.minimum_without_it, 64);
  EXPECT_EQ(report.exit_code, kExitNothingFits);
}

TEST(SummarizeTest, EachFailure_HasItsExitCode) {
  EXPECT_EQ(Summarized({}).exit_code, kExitNoDevice);
  EXPECT_EQ(Summarized({Failed("a", FailureKind::kSuspectedOutOfMemory)}).exit_code,
            kExitNothingFits);
  EXPECT_EQ(Summarized({Failed("a", FailureKind::kModelError)}).exit_code, kExitCannotRun);
  EXPECT_EQ(Summarized({Failed("a", FailureKind::kCannotStart)}).exit_code, kExitCannotRun);
  EXPECT_EQ(Summarized({Failed("a", FailureKind::kTimeout)}).exit_code, kExitTimeLimit);
}

TEST(SummarizeTest, EstimatedAnswer_CountsAsAnswer) {
  const NodeReport report = Summarized(
      {{.device = {.uuid = "a"}, .status = ResultStatus::kEstimated, .estimated_batch = 9}});
  EXPECT_EQ(report.minimum_batch, 9);
}

TEST(SummarizeTest, LastBatchOfOneSample_IsWarnedOf) {
  ProbeSpec spec;
  spec.dataset_size = 2 * 129;
  const NodeReport report = Summarized({Confirmed("a", 64), Confirmed("b", 64)}, spec);
  ASSERT_EQ(report.warnings.size(), 1);
  EXPECT_THAT(report.warnings[0], HasSubstr("drop_last"));
  spec.dataset_size = 2 * 128;
  EXPECT_TRUE(Summarized({Confirmed("a", 64), Confirmed("b", 64)}, spec).warnings.empty());
}

TEST(SummarizeTest, TrialsOfAllDevices_NameTheOneThatSetTheAnswer) {
  DeviceResult other = Confirmed("GPU-a", 64);
  other.bound = BatchBound::kOtherDevice;
  DeviceResult setter = Confirmed("GPU-b", 64);
  setter.bound = BatchBound::kMemory;
  const NodeReport report = Summarized({other, setter}, {.scope = TrialScope::kNode});
  EXPECT_EQ(report.scope, TrialScope::kNode);
  EXPECT_EQ(report.minimum_batch, 64);
  EXPECT_EQ(report.minimum_device, "GPU-b");
  EXPECT_EQ(report.minimum_without_it, std::nullopt) << "no trial has shown it";
}

DeviceResult WithRanks(DeviceResult result, int64_t ranks) {
  result.observations = {{.trial = {.batch = *result.confirmed_batch}, .ranks = ranks}};
  return result;
}

TEST(SummarizeTest, RanksThatTheLauncherStarts_AreCounted) {
  ProbeSpec spec{.launched = LaunchedRanks{4, "torchrun --nproc-per-node=4"}};
  const NodeReport report = Summarized({Confirmed("a", 8), Confirmed("b", 8)}, spec);
  EXPECT_EQ(report.world_size, 4);
  ASSERT_EQ(report.warnings.size(), 1);
  EXPECT_THAT(report.warnings[0], HasSubstr("4 ranks of torchrun --nproc-per-node=4"));
  EXPECT_THAT(report.warnings[0], Not(HasSubstr("--scope node"))) << "these are no GPUs";
  DeviceResult gpu = Confirmed("a", 8);
  gpu.device.kind = DeviceKind::kCuda;
  EXPECT_THAT(Summarized({gpu}, spec).warnings[0], HasSubstr("--scope node"));
  spec.world_size = 16;
  EXPECT_EQ(Summarized({Confirmed("a", 8)}, spec).world_size, 16);
  EXPECT_TRUE(Summarized({Confirmed("a", 8)}, spec).warnings.empty()) << "as asked";
}

TEST(SummarizeTest, LauncherOfOneRank_IsToldWhereThereAreMoreDevices) {
  const ProbeSpec spec{.launched = LaunchedRanks{1, "torchrun --nproc-per-node=1"}};
  EXPECT_TRUE(Summarized({Confirmed("a", 8)}, spec).warnings.empty());
  const NodeReport report = Summarized({Confirmed("a", 8), Confirmed("b", 8)}, spec);
  EXPECT_EQ(report.world_size, 1);
  ASSERT_EQ(report.warnings.size(), 1);
  EXPECT_THAT(report.warnings[0], HasSubstr("not the 2 devices"));
}

TEST(SummarizeTest, RanksThatSpoke_AreCountedWhereNoLauncherSaysThem) {
  EXPECT_EQ(Summarized({WithRanks(Confirmed("a", 8), 3)}).world_size, 3);
  EXPECT_EQ(
      Summarized({WithRanks(Confirmed("a", 8), 1), WithRanks(Confirmed("b", 8), 1)}).world_size,
      std::nullopt)
      << "one on the one device of its trial";
  const ProbeSpec node{.scope = TrialScope::kNode};
  const NodeReport report =
      Summarized({WithRanks(Confirmed("a", 8), 2), WithRanks(Confirmed("b", 8), 1)}, node);
  EXPECT_EQ(report.world_size, 3);
  EXPECT_TRUE(report.warnings.empty());
}

}  // namespace
}  // namespace autobatch
