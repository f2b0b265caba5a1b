#include "orchestrator/plan/resume.h"

#include <limits>

#include "gtest/gtest.h"

namespace autobatch {
namespace {

// 10,000 samples in steps of 512.
PlanRow Row(int64_t steps, int64_t last) {
  return {.global_batch = 512, .steps_per_epoch = steps, .last_step_samples = last};
}

ResumePoint At(bool drop_last, int64_t seen) {
  const absl::StatusOr<ResumePoint> point =
      ResumeAt({.dataset_size = 10000, .drop_last = drop_last},
               drop_last ? Row(19, 512) : Row(20, 272), seen);
  EXPECT_TRUE(point.ok()) << point.status();
  return point.value_or(ResumePoint{});
}

TEST(Resume, Beginning_HasAWholeEpochLeft) {
  EXPECT_EQ(At(false, 0).epoch, 0);
  EXPECT_EQ(At(false, 0).steps_left, 20);
  EXPECT_EQ(At(true, 0).steps_left, 19);
}

TEST(Resume, SamplesOfAnotherWorld_AreCountedNotItsSteps) {
  // 7 steps of 300 samples.
  const ResumePoint point = At(false, 20000 + 2100);
  EXPECT_EQ(point.epoch, 2);
  EXPECT_EQ(point.samples_into_epoch, 2100);
  EXPECT_EQ(point.steps_left, 16);  // 15 × 512 + 220
}

TEST(Resume, RestThatIsDropped_GoesToTheNextEpoch) {
  EXPECT_EQ(At(true, 9728).epoch, 1);
  EXPECT_EQ(At(true, 9700).epoch, 1);
  EXPECT_EQ(At(true, 9700).samples_into_epoch, 0);
  EXPECT_EQ(At(true, 9700).steps_left, 19);
  EXPECT_EQ(At(false, 9728).steps_left, 1);
}

TEST(Resume, LargestNumbers_DoNotOverflow) {
  EXPECT_EQ(At(false, std::numeric_limits<int64_t>::max()).epoch,
            std::numeric_limits<int64_t>::max() / 10000);
}

TEST(Resume, WithoutADataset_IsAnError) {
  EXPECT_EQ(ResumeAt({}, {.global_batch = 8}, 5).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ResumeAt({.dataset_size = 10000}, Row(20, 272), -1).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace autobatch
