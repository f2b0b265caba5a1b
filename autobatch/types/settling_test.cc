#include "autobatch/types/settling.h"

#include <gtest/gtest.h>

#include <vector>

namespace autobatch {
namespace {

std::vector<StepObservation> Steps(const std::vector<int64_t>& retries) {
  std::vector<StepObservation> steps;
  for (const int64_t count : retries) {
    steps.push_back({.step = static_cast<int64_t>(steps.size()) + 1,
                     .peak = {.reserved_bytes = 100},
                     .retries = count});
  }
  return steps;
}

constexpr TrialSpec kTrial = {.steps = 8, .most_steps = 32};

TEST(SettlingTest, RetriesOfTheWarmUp_AreNotLate) {
  const Settling settling = SettlingOf(Steps({2, 1, 4, 0, 0, 0, 0, 0}));
  EXPECT_EQ(settling.late_retries, 0);
  EXPECT_TRUE(settling.IsCalm(8));
  EXPECT_FALSE(GoesOn(kTrial, Steps({2, 1, 4, 0, 0, 0, 0, 0})));
}

TEST(SettlingTest, LongerWarmUp_GoesOnUntilFiveStepsAreCalm) {
  std::vector<int64_t> retries = {1, 0, 1, 2, 1, 0, 0, 0};
  while (GoesOn(kTrial, Steps(retries))) retries.push_back(0);
  EXPECT_EQ(retries.size(), 10u);
  const Settling settling = SettlingOf(Steps(retries));
  EXPECT_EQ(settling.late_retries, 3);
  EXPECT_EQ(settling.calm_steps, 5);
  EXPECT_TRUE(settling.IsCalm(8));
}

TEST(SettlingTest, RetriesThatDoNotEnd_AreNoWarmUp) {
  EXPECT_FALSE(GoesOn(kTrial, Steps({1, 1, 1, 1, 1, 1, 1, 1})));
  // They were over, and come back.
  EXPECT_TRUE(GoesOn(kTrial, Steps({1, 0, 0, 0, 1, 0, 0, 0})));
  EXPECT_FALSE(GoesOn(kTrial, Steps({1, 0, 0, 0, 1, 0, 0, 0, 1})));
  EXPECT_FALSE(SettlingOf(Steps({1, 0, 0, 0, 1, 0, 0, 0, 1})).IsCalm(8));
}

TEST(SettlingTest, PeakThatStillGrows_GoesOnUpToTheMost) {
  std::vector<StepObservation> steps = Steps({0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_FALSE(GoesOn(kTrial, steps));
  steps.back().peak.reserved_bytes = 101;
  EXPECT_TRUE(GoesOn(kTrial, steps));
  while (GoesOn(kTrial, steps)) {
    steps.push_back(steps.back());
    ++steps.back().step;
    ++steps.back().peak.reserved_bytes;
  }
  EXPECT_EQ(steps.size(), 32u);
}

TEST(SettlingTest, FirstStep_IsNoGrowth) {
  std::vector<StepObservation> steps = Steps({0, 0});
  steps[1].peak.reserved_bytes = 200;
  EXPECT_FALSE(SettlingOf(steps).still_grows);
  EXPECT_FALSE(SettlingOf({}).still_grows);
}

TEST(SettlingTest, NoMoreAskedFor_EndsWithItsSteps) {
  const TrialSpec exact = {.steps = 8};
  EXPECT_TRUE(GoesOn(exact, Steps({0, 0, 0, 0, 0, 0, 0})));
  EXPECT_FALSE(GoesOn(exact, Steps({1, 0, 1, 2, 1, 0, 0, 0})));
}

}  // namespace
}  // namespace autobatch
