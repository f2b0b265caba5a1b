#include "orchestrator/plan/device_outcome.h"

#include "gtest/gtest.h"

namespace autobatch {
namespace {

TEST(DeviceOutcome, ConfirmedResult_KeepsWhatTheClusterNeeds) {
  DeviceResult result{.status = ResultStatus::kConfirmed,
                      .confirmed_batch = 77,
                      .estimated_batch = 90,
                      .bound = BatchBound::kMemory};
  result.device.uuid = "GPU-1";
  result.device.address = "cuda:1";
  result.device.name = "NVIDIA A100";
  result.device.memory.total_bytes = 1000;
  result.device.memory.others = {{.pid = 7}};
  const DeviceOutcome outcome = OutcomeOf(result);
  EXPECT_EQ(outcome.batch, 77);
  EXPECT_EQ(outcome.uuid, "GPU-1");
  EXPECT_EQ(outcome.address, "cuda:1");
  EXPECT_EQ(outcome.name, "NVIDIA A100");
  EXPECT_EQ(outcome.total_bytes, 1000);
  EXPECT_EQ(outcome.others.size(), 1u);
  EXPECT_EQ(outcome.bound, BatchBound::kMemory);
  EXPECT_FALSE(outcome.failure.has_value());
}

TEST(DeviceOutcome, EstimatedResult_AnswersWithTheEstimate) {
  const DeviceOutcome outcome =
      OutcomeOf({.status = ResultStatus::kEstimated, .estimated_batch = 90});
  EXPECT_EQ(outcome.batch, 90);
  EXPECT_EQ(outcome.status, ResultStatus::kEstimated);
}

TEST(DeviceOutcome, FailedResult_HasNoBatchAndSaysWhy) {
  const DeviceOutcome outcome =
      OutcomeOf({.failure = Failure{.kind = FailureKind::kCannotStart, .message = "no worker"}});
  EXPECT_EQ(outcome.batch, 0);
  EXPECT_EQ(outcome.failure, FailureKind::kCannotStart);
  EXPECT_EQ(outcome.message, "no worker");
}

}  // namespace
}  // namespace autobatch
