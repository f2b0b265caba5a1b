#include "orchestrator/plan/plan.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "autobatch/types/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

PlanRequest Exact(int64_t global_batch) {
  return {.rule = GlobalBatchRule::kExact, .global_batch = global_batch};
}

PlanRequest Band(int64_t global_batch, double percent) {
  return {.rule = GlobalBatchRule::kBand, .global_batch = global_batch, .band_percent = percent};
}

// The present world's row: one share for all.
PlanRow RowOf(const PlanRequest& request, int64_t world_size, int64_t batch) {
  const absl::StatusOr<Plan> plan =
      MakePlan(request, {.world_size = world_size, .minimum_batch = batch});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() && !plan->rows.empty() ? plan->rows.front() : PlanRow{};
}

// "2x[1x4,1x3] 1x[2x3]": ranks and their micro-steps.
std::string Spelt(const PlanRow& row) {
  std::string out;
  for (const PlanGroup& group : row.groups) {
    absl::StrAppend(&out, out.empty() ? "" : " ", group.ranks, "x[");
    for (const MicroSteps& steps : group.steps) {
      absl::StrAppend(&out, &steps == group.steps.data() ? "" : ",", steps.count, "x",
                      steps.micro_batch);
    }
    out += "]";
  }
  return out;
}

std::string ErrorOf(const PlanRequest& request, const ClusterBatches& cluster) {
  const absl::StatusOr<Plan> plan = MakePlan(request, cluster);
  return std::string(plan.status().message());
}

TEST(Plan, Largest_TakesAllThatIsSafe) {
  const PlanRow row = RowOf({}, 8, 77);
  EXPECT_EQ(row.global_batch, 616);
  EXPECT_EQ(row.micro_batch, 77);
  EXPECT_EQ(row.accumulation, 1);
  EXPECT_EQ(Spelt(row), "8x[1x77]");
  EXPECT_EQ(ShareOfRank(row, 7)->weight, 1);
}

TEST(Plan, LargestWithAccumulation_MultipliesTheMicroSteps) {
  const PlanRow row = RowOf({.accumulation = 4}, 8, 77);
  EXPECT_EQ(row.global_batch, 2464);
  EXPECT_EQ(Spelt(row), "8x[4x77]");
  EXPECT_EQ(ShareOfRank(row, 7)->weight, 0.25);
}

TEST(Plan, Exact_KeepsTheGlobalBatchInEveryWorld) {
  PlanRequest request = Exact(512);
  request.min_world_size = 1;
  const absl::StatusOr<Plan> plan = MakePlan(request, {.world_size = 8, .minimum_batch = 77});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->rows.size(), 8u);
  std::vector<std::string> spelt;
  for (const PlanRow& row : plan->rows) {
    EXPECT_EQ(row.global_batch, 512);
    spelt.push_back(Spelt(row));
  }
  EXPECT_THAT(
      spelt, testing::ElementsAre("1x[1x74,6x73]", "2x[4x64]", "2x[3x57] 1x[2x57,1x56]", "4x[2x64]",
                                  "2x[1x52,1x51] 3x[2x51]", "2x[2x43] 4x[1x43,1x42]",
                                  "1x[1x74] 6x[1x73]", "8x[1x64]"));
}

TEST(Plan, PowersOfTwoAndEveryOtherBatch_AreServed) {
  for (const int64_t batch : {1, 2, 3, 7, 8, 64, 65}) {
    for (int64_t world_size = 1; world_size <= 9; ++world_size) {
      EXPECT_EQ(RowOf(Exact(64), world_size, batch).global_batch, 64);
    }
  }
}

TEST(Plan, RankWithNothingInAMicroStep_StepsWithWeightZero) {
  const PlanRow row = RowOf(Exact(5), 3, 1);
  EXPECT_EQ(Spelt(row), "2x[2x1] 1x[1x1,1x0]");
  EXPECT_EQ(row.sample_weight, 0.6);
  EXPECT_EQ(ShareOfRank(row, 2)->weight, 0.3);
  EXPECT_TRUE(row.single_sample);
}

TEST(Plan, MoreRanksThanSamples_IsRefusedWithWhatWouldWork) {
  const ClusterBatches eight = {.world_size = 8, .minimum_batch = 77};
  EXPECT_THAT(ErrorOf(Exact(7), eight),
              AllOf(HasSubstr("the global batch has 7 samples"), HasSubstr("world size 8: "),
                    HasSubstr("up to 7 ranks")));
  PlanRequest request = Exact(7);
  request.min_world_size = 1;
  request.max_world_size = 10;
  const absl::StatusOr<Plan> plan = MakePlan(request, {.world_size = 4, .minimum_batch = 77});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->rows.size(), 7u);
  ASSERT_EQ(plan->unserved.size(), 1u);
  EXPECT_EQ(plan->unserved[0].first, 8);
  EXPECT_EQ(plan->unserved[0].last, 10);
  EXPECT_THAT(RowFor(*plan, 9).status().message(), HasSubstr("each rank needs one"));
}

TEST(Plan, Band_TakesTheMostEvenSplitInIt) {
  // 512 itself is uneven over 3 ranks; 462 = 3 ranks x 2 x 77 fills them.
  EXPECT_EQ(Spelt(RowOf(Band(512, 10), 3, 77)), "3x[2x77]");
  // 512 is even.
  EXPECT_EQ(Spelt(RowOf(Band(512, 10), 8, 77)), "8x[1x64]");
  // The nearest multiple of 7 is taken, not the largest.
  EXPECT_EQ(RowOf(Band(512, 10), 7, 80).global_batch, 511);
  // Between two as near: the larger.
  EXPECT_EQ(RowOf(Band(9, 40), 6, 8).global_batch, 12);
  // No multiple of 15 micro-steps is in it, one of 16 is.
  EXPECT_EQ(Spelt(RowOf(Band(1000, 1), 7, 10)), "7x[16x9]");
}

TEST(Plan, BandTooNarrowForAnEvenSplit_KeepsTheRanksEvenOrElseTheWish) {
  EXPECT_EQ(Spelt(RowOf(Band(1001, 0.1), 7, 77)), "7x[1x72,1x71]");
  EXPECT_EQ(Spelt(RowOf(Band(1000, 0.01), 7, 143)), "6x[1x143] 1x[1x142]");
}

TEST(Plan, SharesPerDevice_AreUsedInTheirProportion) {
  PlanRequest request = {.min_world_size = 1};
  const ClusterBatches cluster = {.world_size = 3,
                                  .minimum_batch = 32,
                                  .shares = {{"GPU-a", 64}, {"GPU-b", 32}, {"GPU-c", 64}}};
  absl::StatusOr<Plan> plan = MakePlan(request, cluster);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->rows.back().global_batch, 160);
  EXPECT_EQ(Spelt(plan->rows.back()), "1x[1x64] 1x[1x32] 1x[1x64]");
  EXPECT_THAT(plan->rows.back().devices, testing::ElementsAre("GPU-a", "GPU-b", "GPU-c"));
  EXPECT_EQ(ShareOfDevice(plan->rows.back(), "GPU-b")->weight, 0.6);
  // Who is in a smaller world is not known: the minimum for all.
  EXPECT_EQ(Spelt(plan->rows.front()), "1x[1x32]");
  EXPECT_TRUE(plan->rows.front().devices.empty());

  request = Exact(100);
  plan = MakePlan(request, cluster);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(Spelt(plan->rows.back()), "1x[1x40] 1x[1x20] 1x[1x40]");
  plan = MakePlan(Band(150, 20), cluster);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->rows.back().global_batch, 150);
  EXPECT_EQ(Spelt(plan->rows.back()), "1x[1x60] 1x[1x30] 1x[1x60]");
}

TEST(Plan, SmallShareBesideLargeOnes_StillGetsASample) {
  const absl::StatusOr<Plan> plan =
      MakePlan(Exact(4), {.world_size = 3,
                          .minimum_batch = 1,
                          .shares = {{"GPU-a", 1000}, {"GPU-b", 1}, {"GPU-c", 1000}}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(Spelt(plan->rows.back()), "1x[1x2] 2x[1x1]");
}

TEST(Plan, SharesThatMakeNoSense_AreNamed) {
  const auto error = [](std::vector<DeviceShare> shares, int64_t replica = 1) {
    return ErrorOf({.model_parallel_size = replica},
                   {.world_size = 2, .minimum_batch = 8, .shares = std::move(shares)});
  };
  EXPECT_THAT(error({{"GPU-a", 8}}), HasSubstr("1 shares for 2 ranks"));
  EXPECT_THAT(error({{"GPU-a", 8}, {"GPU-a", 9}}), HasSubstr("device GPU-a has two shares"));
  EXPECT_THAT(error({{"GPU-a", 8}, {"", 9}}), HasSubstr("a share without a device"));
  EXPECT_THAT(error({{"GPU-a", 7}, {"GPU-b", 9}}), HasSubstr("the share 7 of device GPU-a"));
  EXPECT_THAT(error({{"GPU-a", 8}, {"GPU-b", 9}}, 2), HasSubstr("one share for all is possible"));
}

TEST(Plan, ModelParallelRanks_DoNotCountAsDataParallel) {
  PlanRequest request = Exact(512);
  request.min_world_size = 1;
  request.model_parallel_size = 2;
  const absl::StatusOr<Plan> plan = MakePlan(request, {.world_size = 4, .minimum_batch = 77});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const absl::StatusOr<PlanRow> row = RowFor(*plan, 8);
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->world_size, 4);
  EXPECT_EQ(Spelt(*row), "4x[2x64]");
  EXPECT_THAT(RowFor(*plan, 7).status().message(), HasSubstr("no multiple of the 2 processes"));
  EXPECT_THAT(RowFor(*plan, 10).status().message(), HasSubstr("the plan is for 2 to 8 ranks"));
  EXPECT_FALSE(RowFor(*plan, 0).ok());
}

TEST(Plan, KnownDataset_CountsStepsThatAreEqualOnEveryRank) {
  PlanRequest request = Exact(512);
  request.dataset_size = 10000;
  PlanRow row = RowOf(request, 8, 77);
  EXPECT_EQ(row.steps_per_epoch, 20);
  EXPECT_EQ(row.last_step_samples, 272);
  EXPECT_FALSE(row.last_single_sample);
  request.drop_last = true;
  row = RowOf(request, 8, 77);
  EXPECT_EQ(row.steps_per_epoch, 19);
  EXPECT_EQ(row.last_step_samples, 512);
}

TEST(Plan, RemainderOfOneSample_IsFlagged) {
  PlanRequest request = Exact(64);
  request.dataset_size = 64 * 3 + 9;
  EXPECT_TRUE(RowOf(request, 8, 8).last_single_sample);
  EXPECT_FALSE(RowOf(request, 8, 8).single_sample);
  request.dataset_size = 64 * 3 + 16;
  EXPECT_FALSE(RowOf(request, 8, 8).last_single_sample);
  request.drop_last = true;
  request.dataset_size = 64 * 3 + 1;
  EXPECT_FALSE(RowOf(request, 8, 8).last_single_sample);
}

TEST(Plan, LargestBeyondTheDataset_IsCutToIt) {
  EXPECT_EQ(Spelt(RowOf({.dataset_size = 100}, 8, 77)), "8x[1x12]");
  EXPECT_EQ(Spelt(RowOf({.accumulation = 4, .dataset_size = 30}, 8, 77)), "6x[1x4] 2x[1x3]");
  EXPECT_THAT(ErrorOf({.dataset_size = 7}, {.world_size = 8, .minimum_batch = 77}),
              HasSubstr("the data set has 7 samples, and each rank"));
}

TEST(Plan, BandBeyondTheDataset_EndsWithIt) {
  PlanRequest request = Band(100, 10);
  request.dataset_size = 97;
  EXPECT_EQ(RowOf(request, 8, 77).global_batch, 96);
  request.dataset_size = 89;
  EXPECT_THAT(ErrorOf(request, {.world_size = 8, .minimum_batch = 77}),
              HasSubstr("the band begins at 90 samples, more than the data set's 89"));
}

TEST(Plan, LearningRate_FollowsTheReferenceBatch) {
  PlanRequest request = Exact(1024);
  EXPECT_EQ(RowOf(request, 4, 77).lr_factor, 1);
  request.reference_batch = 256;
  request.learning_rate = LearningRateRule::kLinear;
  EXPECT_EQ(RowOf(request, 4, 77).lr_factor, 4);
  request.learning_rate = LearningRateRule::kSqrt;
  EXPECT_EQ(RowOf(request, 4, 77).lr_factor, 2);
}

TEST(Plan, ShardedState_IsNotPlannedForSmallerWorlds) {
  PlanRequest request = Exact(512);
  request.sharded = true;
  request.min_world_size = 1;
  request.max_world_size = 6;
  const absl::StatusOr<Plan> plan = MakePlan(request, {.world_size = 4, .minimum_batch = 77});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->rows.size(), 3u);
  EXPECT_EQ(plan->unserved[0].last, 3);
  EXPECT_THAT(plan->unserved[0].reason, HasSubstr("probe again"));
}

TEST(Plan, NumbersNearTheLimits_DoNotOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const PlanRow row = RowOf(Exact(kMaxSamples), 7, 3);
  EXPECT_EQ(row.accumulation, (kMaxSamples + 20) / 21);
  EXPECT_EQ(RowOf(Exact(kMaxSamples), 7, kMaxSamples).accumulation, 1);
  EXPECT_EQ(RowOf(Band(kMaxSamples / 2, 50), 3, 1).global_batch % 3, 0);
  EXPECT_THAT(
      ErrorOf({}, {.world_size = 2, .minimum_batch = kMaxSamples}),
      HasSubstr("ranks of 4,611,686,018,427,387,904 samples in 1 micro-steps are together more"));
  EXPECT_EQ(RowOf({}, 1, kMaxSamples).global_batch, kMaxSamples);
  EXPECT_FALSE(MakePlan(Exact(kMost), {.world_size = 1, .minimum_batch = 1}).ok());
  EXPECT_FALSE(MakePlan({}, {.world_size = kMost, .minimum_batch = kMost}).ok());
}

TEST(Plan, WorldSizesThatDoNotFit_AreNamed) {
  const auto error = [](std::optional<int64_t> least, std::optional<int64_t> most, int64_t now,
                        int64_t batch = 8) {
    return ErrorOf({.min_world_size = least, .max_world_size = most},
                   {.world_size = now, .minimum_batch = batch});
  };
  EXPECT_THAT(error(2, 4, 8), HasSubstr("present world size 8 is not in 2 to 4"));
  EXPECT_THAT(error(4, {}, 2), HasSubstr("present world size 2 is not in 4 to 2"));
  EXPECT_THAT(error({}, 20000, 8), HasSubstr("a smallest world of 11809 is possible"));
  EXPECT_THAT(error(1, {}, 9000), HasSubstr("a smallest world of 809 is possible"));
  EXPECT_THAT(error({}, {}, 0), HasSubstr("a world size of 0"));
  EXPECT_THAT(error({}, {}, kMaxWorldSize + 1), HasSubstr("from 1 to 1048576"));
  EXPECT_THAT(error({}, {}, 8, 0), HasSubstr("a safe batch of 0"));
  EXPECT_THAT(error({}, {}, 8, -1), HasSubstr("a safe batch of -1"));
}

TEST(Plan, WithoutARange_HasThePresentWorld) {
  const absl::StatusOr<Plan> plan = MakePlan({}, {.world_size = 9000, .minimum_batch = 8});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->rows.size(), 1u);
  EXPECT_EQ(plan->rows[0].world_size, 9000);
}

TEST(Plan, ThousandsOfUnevenRows_FitIntoOneMessage) {
  PlanRequest request = Exact(1'000'003);
  request.min_world_size = 1;
  request.dataset_size = 123'456'789;
  const absl::StatusOr<Plan> plan = MakePlan(request, {.world_size = 8192, .minimum_batch = 13});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_LT(ToJson(*plan).size(), size_t{4} << 20);
}

}  // namespace
}  // namespace autobatch
