#include "orchestrator/plan/plan_table.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Plan Make(const PlanRequest& request, int64_t world_size, int64_t batch = 77) {
  const absl::StatusOr<Plan> plan =
      MakePlan(request, {.world_size = world_size, .minimum_batch = batch});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.value_or(Plan{});
}

PlanRequest Exact(int64_t global_batch, int64_t least, int64_t most) {
  return {.rule = GlobalBatchRule::kExact,
          .global_batch = global_batch,
          .min_world_size = least,
          .max_world_size = most};
}

TEST(PlanTable, EachWorldSize_HasALine) {
  EXPECT_EQ(PlanTable(Make(Exact(512, 2, 4), 3), {.present = 3}),
            "world   global  micro  steps  split                               weight\n"
            "    2      512     64      4  2 ranks 4×64                          0.25\n"
            "    3*     512     57      3  2 ranks 3×57, 1 rank 2×57+56  0.3281–0.334\n"
            "    4      512     64      2  4 ranks 2×64                           0.5\n");
}

TEST(PlanTable, WhatIsKnown_HasAColumn) {
  PlanRequest request = Exact(512, 4, 4);
  request.dataset_size = 10000;
  request.learning_rate = LearningRateRule::kLinear;
  request.reference_batch = 256;
  request.model_parallel_size = 2;
  const std::string table = PlanTable(Make(request, 4), {});
  EXPECT_THAT(table, AllOf(HasSubstr("processes"), HasSubstr(" 8 "), HasSubstr("lr"),
                           HasSubstr("20, last of 272"), Not(HasSubstr("note"))));
}

TEST(PlanTable, OtherTool_IsShownBesideOurs) {
  const std::string table =
      PlanTable(Make(Exact(512, 2, 3), 3), {.other = {{2, "64"}}, .other_title = "DeepSpeed"});
  EXPECT_THAT(table, HasSubstr("DeepSpeed"));
  EXPECT_THAT(table, HasSubstr("0.25         64\n"));
  EXPECT_THAT(table, HasSubstr("0.3281–0.334          -\n"));
}

TEST(PlanTable, SingleSamples_AreNoted) {
  EXPECT_THAT(PlanTable(Make(Exact(5, 3, 3), 3, 1), {}), HasSubstr("a micro-batch of 1"));
  PlanRequest request = Exact(64, 8, 8);
  request.dataset_size = 64 + 9;
  EXPECT_THAT(PlanTable(Make(request, 8), {}), HasSubstr("last step: a micro-batch of 1"));
}

TEST(PlanTable, LongPlan_ShowsItsEndsAndThePresentWorld) {
  const std::string table = PlanTable(Make(Exact(100000, 1, 1000), 500), {.present = 500});
  EXPECT_THAT(table, AllOf(HasSubstr("\n   20 "), Not(HasSubstr("\n   21 ")), HasSubstr("\n  500*"),
                           HasSubstr("\n…\n"), HasSubstr("\n1,000 "),
                           HasSubstr("… 959 more rows are not shown")));
}

TEST(PlanTable, WorldsWithoutARow_AreSaidWithTheReason) {
  EXPECT_THAT(PlanTable(Make(Exact(4, 1, 9), 4), {}),
              HasSubstr("no row for world sizes 5 to 9: the global batch has 4 samples"));
}

TEST(PlanTable, ManyGroups_AreCut) {
  const absl::StatusOr<Plan> plan =
      MakePlan({}, {.world_size = 6,
                    .minimum_batch = 1,
                    .shares = {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}, {"f", 6}}});
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(PlanTable(*plan, {}), HasSubstr("1 rank 3, 1 rank 4, … "));
}

}  // namespace
}  // namespace autobatch
