#include "autobatch/search/pace.h"

#include <gtest/gtest.h>

namespace autobatch {
namespace {

Observation Ran(int64_t batch, int64_t steps, double step_ms, double trial_ms) {
  Observation observation;
  observation.trial = {.batch = batch, .steps = steps};
  observation.step_ms = step_ms;
  observation.trial_ms = trial_ms;
  return observation;
}

TEST(PaceTest, NothingObserved_TellsNothing) {
  const Pace pace;
  EXPECT_FALSE(pace.Estimate({.batch = 8}).has_value());
  EXPECT_EQ(pace.LargestWithin({}, absl::Seconds(1)), INT64_MAX);
}

TEST(PaceTest, OneTrial_EstimateHasFixedPartAndSafety) {
  Pace pace;
  // 10 ms a sample, and 400 ms to start.
  pace.Observe(Ran(4, 5, 40, 600));
  EXPECT_EQ(pace.Estimate({.batch = 8, .steps = 10}), absl::Milliseconds(1.25 * (400 + 800)));
  EXPECT_EQ(pace.Estimate({.batch = 8, .steps = 10, .accumulation = 2}),
            absl::Milliseconds(1.25 * (400 + 1600)));
}

TEST(PaceTest, LargestWithin_IsTheLargestWhoseEstimateFits) {
  Pace pace;
  pace.Observe(Ran(4, 5, 40, 600));
  TrialSpec trial{.steps = 8};
  const absl::Duration time = absl::Seconds(7);
  trial.batch = pace.LargestWithin(trial, time);
  EXPECT_LE(*pace.Estimate(trial), time);
  ++trial.batch;
  EXPECT_GT(*pace.Estimate(trial), time);
  EXPECT_EQ(pace.LargestWithin(trial, absl::Milliseconds(500)), 0);
  EXPECT_EQ(pace.LargestWithin(trial, absl::InfiniteDuration()), INT64_MAX);
}

TEST(PaceTest, SeveralTrials_LargestBatchTellsTheSampleAndSlowestTheStart) {
  Pace pace;
  pace.Observe(Ran(1, 3, 100, 1300));
  pace.Observe(Ran(16, 3, 160, 500));
  pace.Observe(Ran(4, 3, 300, 900));
  EXPECT_EQ(pace.Estimate({.batch = 10, .steps = 10}), absl::Milliseconds(1.25 * (1000 + 1000)));
}

TEST(PaceTest, FailedTrial_IsIgnored) {
  Pace pace;
  Observation failed = Ran(64, 3, 1, 10);
  failed.failure = Failure{.kind = FailureKind::kOutOfMemory};
  pace.Observe(failed);
  EXPECT_FALSE(pace.Estimate({}).has_value());
}

Observation Untimed(int64_t batch, int64_t steps, double trial_ms) {
  Observation observation = Ran(batch, steps, 0, trial_ms);
  observation.step_ms.reset();
  return observation;
}

TEST(PaceTest, OneTrialWithoutStepTimes_IsTakenForTheStart) {
  Pace pace;
  pace.Observe(Untimed(1, 3, 3000));
  EXPECT_EQ(pace.Estimate({.batch = 4, .steps = 8}), absl::Milliseconds(1.25 * 3000));
  EXPECT_EQ(pace.LargestWithin({.steps = 8}, absl::Seconds(5)), INT64_MAX);
  EXPECT_EQ(pace.LargestWithin({.steps = 8}, absl::Seconds(3)), 0);
}

TEST(PaceTest, TrialsWithoutStepTimes_TellStartAndSamplesApart) {
  Pace pace;
  pace.Observe(Untimed(1, 3, 3030));
  pace.Observe(Untimed(4, 3, 3300));
  pace.Observe(Untimed(16, 3, 3480));
  // 10 ms a sample, and 3 s to start.
  EXPECT_EQ(pace.Estimate({.batch = 10, .steps = 10}), absl::Milliseconds(1.25 * 4000));
}

TEST(PaceTest, LargerTrialThatWasFaster_IsNoReasonForNegativeTimes) {
  Pace pace;
  pace.Observe(Untimed(1, 3, 4000));
  pace.Observe(Untimed(4, 3, 3000));
  EXPECT_EQ(pace.Estimate({.batch = 4, .steps = 3}), absl::Milliseconds(1.25 * 3000));
}

}  // namespace
}  // namespace autobatch
