#include "autobatch/search/batch_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autobatch {
namespace {

TEST(BatchRuleTest, NoRule_AllowsEveryBatchInRange) {
  const BatchRule rule = *BatchRule::Create(1, 100, 1, false);
  EXPECT_EQ(rule.Least(), 1);
  EXPECT_EQ(rule.Greatest(), 100);
  EXPECT_EQ(rule.Floor(57), 57);
  EXPECT_EQ(rule.Ceil(57), 57);
  EXPECT_EQ(rule.Floor(101), 100);
  EXPECT_EQ(rule.Ceil(101), INT64_MAX);
  EXPECT_EQ(rule.Floor(0), 0);
}

TEST(BatchRuleTest, MultipleOf_RoundsToMultiples) {
  const BatchRule rule = *BatchRule::Create(1, 100, 8, false);
  EXPECT_EQ(rule.Least(), 8);
  EXPECT_EQ(rule.Greatest(), 96);
  EXPECT_EQ(rule.Floor(7), 0);
  EXPECT_EQ(rule.Floor(63), 56);
  EXPECT_EQ(rule.Ceil(1), 8);
  EXPECT_EQ(rule.Ceil(57), 64);
  EXPECT_EQ(rule.Ceil(97), INT64_MAX);
}

TEST(BatchRuleTest, PowerOfTwo_RoundsToPowers) {
  const BatchRule rule = *BatchRule::Create(3, 100, 1, true);
  EXPECT_EQ(rule.Least(), 4);
  EXPECT_EQ(rule.Greatest(), 64);
  EXPECT_EQ(rule.Floor(63), 32);
  EXPECT_EQ(rule.Floor(3), 0);
  EXPECT_EQ(rule.Ceil(1), 4);
  EXPECT_EQ(rule.Ceil(33), 64);
  EXPECT_EQ(rule.Ceil(65), INT64_MAX);
}

TEST(BatchRuleTest, PowerOfTwoAndMultiple_ObeysBoth) {
  const BatchRule rule = *BatchRule::Create(1, 100, 8, true);
  EXPECT_EQ(rule.Least(), 8);
  EXPECT_EQ(rule.Floor(15), 8);
  EXPECT_EQ(rule.Ceil(9), 16);
}

TEST(BatchRuleTest, Contradictions_AreRefusedInWords) {
  const struct {
    int64_t least, greatest, multiple_of;
    bool power_of_two;
    const char* words;
  } cases[] = {
      {0, 10, 1, false, "min batch 0"},
      {11, 10, 1, false, "max batch 10 is below"},
      {1, INT64_MAX, 1, false, "at most 2^40"},
      {1, 10, 0, false, "multiple of 0"},
      {1, 100, 12, true, "no power of two is a multiple of 12"},
      {1, 7, 8, false, "no batch from 1 to 7 is a multiple of 8"},
      {9, 15, 1, true, "no batch from 9 to 15 is a power of two"},
      {9, 15, 4, true, "no batch from 9 to 15 is a power of two from 4"},
  };
  for (const auto& c : cases) {
    const absl::Status status =
        BatchRule::Create(c.least, c.greatest, c.multiple_of, c.power_of_two).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.words;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(c.words));
  }
}

// Floor and Ceil against counting, for every rule and batch in a small range.
TEST(BatchRuleTest, EveryBatch_FloorAndCeilAgreeWithCounting) {
  for (const bool power_of_two : {false, true}) {
    for (const int64_t multiple_of : {1, 2, 3, 4, 8}) {
      for (int64_t least = 1; least <= 12; ++least) {
        const auto rule = BatchRule::Create(least, 40, multiple_of, power_of_two);
        if (!rule.ok()) continue;
        const auto allowed = [&](int64_t batch) {
          return batch >= least && batch <= 40 && batch % multiple_of == 0 &&
                 (!power_of_two || (batch & (batch - 1)) == 0);
        };
        for (int64_t batch = 1; batch <= 45; ++batch) {
          int64_t floor = batch;
          while (floor > 0 && !allowed(floor)) --floor;
          int64_t ceil = batch;
          while (ceil <= 40 && !allowed(ceil)) ++ceil;
          EXPECT_EQ(rule->Floor(batch), floor) << batch << " " << multiple_of << " " << least;
          EXPECT_EQ(rule->Ceil(batch), ceil > 40 ? INT64_MAX : ceil)
              << batch << " " << multiple_of << " " << least;
        }
      }
    }
  }
}

}  // namespace
}  // namespace autobatch
