#include "orchestrator/plan/plan_request.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

TEST(PlanRequest, WhatMakesSense_IsTaken) {
  for (const PlanRequest& request : std::vector<PlanRequest>{
           {},
           {.accumulation = 4, .min_world_size = 1, .max_world_size = kMaxPlanRows},
           {.rule = GlobalBatchRule::kExact, .global_batch = 512},
           {.rule = GlobalBatchRule::kExact, .global_batch = 512, .dataset_size = 512},
           {.rule = GlobalBatchRule::kBand, .global_batch = 512, .band_percent = 0.5},
           {.dataset_size = 100, .drop_last = true},
           {.learning_rate = LearningRateRule::kSqrt, .reference_batch = 256},
           {.max_world_size = kMaxWorldSize / 8, .model_parallel_size = 8}}) {
    EXPECT_TRUE(ValidateRequest(request).ok()) << ValidateRequest(request);
  }
}

TEST(PlanRequest, WhatMakesNoSense_IsNamedWithWhatWouldBeRight) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const GlobalBatchRule exact = GlobalBatchRule::kExact;
  const GlobalBatchRule band = GlobalBatchRule::kBand;
  const struct {
    PlanRequest request;
    const char* says;
  } cases[] = {
      {{.rule = exact}, "global_batch: the rule exact needs it"},
      {{.global_batch = 512}, "global_batch: the rule largest has no use for it"},
      {{.rule = band, .global_batch = 512}, "band_percent: the rule band needs it"},
      {{.rule = exact, .global_batch = 512, .band_percent = 10},
       "band_percent: the rule exact has no use for it"},
      {{.rule = exact, .global_batch = 0}, "global_batch 0: from 1 to"},
      {{.rule = exact, .global_batch = -1}, "global_batch -1"},
      {{.rule = exact, .global_batch = kMost}, "global_batch 9223372036854775807"},
      {{.rule = band, .global_batch = 8, .band_percent = 0}, "band_percent 0: above 0"},
      {{.rule = band, .global_batch = 8, .band_percent = 51}, "up to 50"},
      {{.rule = band, .global_batch = 8, .band_percent = std::nan("")}, "band_percent nan"},
      {{.rule = exact, .global_batch = 8, .accumulation = 2}, "leave it out"},
      {{.accumulation = 0}, "accumulation 0"},
      {{.accumulation = kMost}, "accumulation 9223372036854775807: from 1 to 1073741824"},
      {{.min_world_size = 0}, "min_world_size 0"},
      {{.max_world_size = kMost}, "max_world_size 9223372036854775807: from 1 to 1048576"},
      {{.min_world_size = 9, .max_world_size = 8}, "min_world_size 9: is above max_world_size 8"},
      {{.min_world_size = 1, .max_world_size = 8193}, "at least 2 is possible"},
      {{.model_parallel_size = 0}, "model_parallel_size 0"},
      {{.max_world_size = kMaxWorldSize, .model_parallel_size = 2}, "more than 1048576 processes"},
      {{.dataset_size = 0}, "dataset_size 0"},
      {{.rule = exact, .global_batch = 8, .dataset_size = 7}, "more than the data set's 7"},
      {{.drop_last = true}, "drop_last needs dataset_size"},
      {{.learning_rate = LearningRateRule::kLinear}, "linear needs reference_batch"},
      {{.reference_batch = 8}, "reference_batch means nothing to learning_rate none"},
  };
  for (const auto& [request, says] : cases) {
    const absl::Status status = ValidateRequest(request);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << says;
    EXPECT_THAT(std::string(status.message()), HasSubstr(says));
  }
}

}  // namespace
}  // namespace autobatch
