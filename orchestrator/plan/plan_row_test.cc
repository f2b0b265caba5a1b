#include "orchestrator/plan/plan_row.h"

#include <functional>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// 512 samples over 3 ranks of up to 77.
PlanRow Row() {
  return {.world_size = 3,
          .processes = 3,
          .global_batch = 512,
          .micro_batch = 57,
          .accumulation = 3,
          .sample_weight = 3.0 / 512,
          .groups = {{2, {{3, 57}}}, {1, {{2, 57}, {1, 56}}}}};
}

TEST(PlanRow, EveryRank_HasItsGroupsShare) {
  const absl::StatusOr<RankShare> second = ShareOfRank(Row(), 1);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->samples, 171);
  EXPECT_EQ(second->micro_batch, 57);
  EXPECT_EQ(second->accumulation, 3);
  EXPECT_EQ(second->global_batch, 512);
  EXPECT_DOUBLE_EQ(second->weight, 57 * 3.0 / 512);
  const absl::StatusOr<RankShare> third = ShareOfRank(Row(), 2);
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third->samples, 170);
  EXPECT_EQ(third->steps.size(), 2u);
  EXPECT_DOUBLE_EQ(third->weight, 170.0 * 3 / 512 / 3);
}

TEST(PlanRow, RankThatThereIsNot_IsRefused) {
  for (const int64_t rank : {int64_t{-1}, int64_t{3}, kMost}) {
    EXPECT_THAT(ShareOfRank(Row(), rank).status().message(), HasSubstr("3 data-parallel ranks"));
  }
}

TEST(PlanRow, Device_IsFoundWhateverItsRank) {
  PlanRow row = Row();
  EXPECT_THAT(ShareOfDevice(row, "GPU-c").status().message(), HasSubstr("names no devices"));
  row.devices = {"GPU-a", "GPU-b", "GPU-c"};
  EXPECT_EQ(ShareOfDevice(row, "GPU-c")->samples, 170);
  EXPECT_EQ(ShareOfDevice(row, "GPU-d").status().code(), absl::StatusCode::kNotFound);
}

TEST(PlanRow, WhatAPlanMakes_IsValid) {
  EXPECT_TRUE(ValidateRow(Row(), 77).ok()) << ValidateRow(Row(), 77);
  PlanRow row = Row();
  row.steps_per_epoch = 20;
  row.last_step_samples = 272;
  EXPECT_TRUE(ValidateRow(row, 57).ok());
}

TEST(PlanRow, WhatNoPlanMakes_IsNamed) {
  const struct {
    std::function<void(PlanRow&)> change;
    const char* says;
  } cases[] = {
      {[](PlanRow& row) { row.world_size = 0; }, "row of world size 0"},
      {[](PlanRow& row) { row.world_size = 4; }, "another number of ranks"},
      {[](PlanRow& row) { row.global_batch = 511; }, "are not 511 samples"},
      {[](PlanRow& row) { row.global_batch = 0; }, "global batch 0"},
      {[](PlanRow& row) { row.global_batch = 513; }, "are not 513 samples"},
      {[](PlanRow& row) { row.accumulation = 2; }, "another number of micro-steps than 2"},
      {[](PlanRow& row) { row.accumulation = -3; }, "in -3 micro-steps"},
      {[](PlanRow& row) { row.micro_batch = 56; }, "largest micro-batch is 57, not 56"},
      {[](PlanRow& row) { row.single_sample = true; }, "single_sample"},
      {[](PlanRow& row) { row.sample_weight = 0.006; }, "a sample weighs 0.00585938, not 0.006"},
      {[](PlanRow& row) { row.sample_weight = std::nan(""); }, "not nan"},
      {[](PlanRow& row) { row.lr_factor = 0; }, "lr_factor 0"},
      {[](PlanRow& row) { row.lr_factor = std::nan(""); }, "lr_factor nan"},
      {[](PlanRow& row) { row.groups[0].ranks = -2; }, "a group of -2 ranks"},
      {[](PlanRow& row) { row.groups[0].ranks = kMost; }, "another number of ranks"},
      {[](PlanRow& row) { row.groups[0].steps[0].count = kMost; }, "more than the global batch"},
      {[](PlanRow& row) { row.groups[0].steps[0].count = 0; }, "0 micro-steps of 57"},
      {[](PlanRow& row) { row.groups[0].steps[0].micro_batch = -1; }, "3 micro-steps of -1"},
      {[](PlanRow& row) { row.groups[0].steps[0].micro_batch = 0; }, "a rank has no samples"},
      {[](PlanRow& row) { row.groups[0].steps[0] = {kMost, kMost}; }, "more than the global"},
      {[](PlanRow& row) { row.groups.clear(); }, "another number of ranks"},
      {[](PlanRow& row) { row.devices = {"a", "b"}; }, "one device for each rank"},
      {[](PlanRow& row) { row.devices = {"a", "b", "a"}; }, "one device for each rank"},
      {[](PlanRow& row) { row.devices = {"a", "b", "c", "a"}; }, "one device for each rank"},
      {[](PlanRow& row) { row.devices = {"a", "b", ""}; }, "one device for each rank"},
      {[](PlanRow& row) { row.steps_per_epoch = 3; }, "3 steps per epoch, the last of 0"},
      {[](PlanRow& row) {
         row.steps_per_epoch = 0;
         row.last_step_samples = 5;
       },
       "0 steps per epoch"},
      {[](PlanRow& row) {
         row.steps_per_epoch = 2;
         row.last_step_samples = 513;
       },
       "the last of 513"},
  };
  for (const auto& [change, says] : cases) {
    PlanRow row = Row();
    change(row);
    EXPECT_THAT(std::string(ValidateRow(row, 77).message()), HasSubstr(says));
  }
  EXPECT_THAT(std::string(ValidateRow(Row(), 56).message()),
              HasSubstr("a micro-batch of 57 is above the safe 56"));
}

}  // namespace
}  // namespace autobatch
