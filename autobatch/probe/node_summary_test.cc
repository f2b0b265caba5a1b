#include "autobatch/probe/node_summary.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

using ::testing::HasSubstr;

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

}  // namespace
}  // namespace autobatch
