// Trials whose allocator is long in coming to rest, or never does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "autobatch/search/fake_curve.h"
#include "autobatch/search/finished_search.h"
#include "autobatch/search/search.h"
#include "autobatch/search/usual_curve.h"
#include "autobatch/types/settling.h"

namespace autobatch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SearchWarmUpTest, RetriesThatDoNotEnd_StepDown) {
  FakeCurve::Options curve = Line();
  curve.meddle = [](Observation& observation, int64_t) {
    if (!observation.ok() || observation.trial.batch < 68) return;
    for (StepObservation& step : observation.steps) step.retries = 1;
  };
  const Search search = Finish(Plain(), curve);
  EXPECT_GE(*search.outcome().confirmed_batch, 65);
  EXPECT_LT(*search.outcome().confirmed_batch, 68);
  EXPECT_THAT(Warnings(search), HasSubstr("gave its cache back 5 times"));
}

// From batch `from` on the allocator retries in every step up to number `last`; the child goes on
// by itself or not.
FakeCurve::Options LongWarmUp(int64_t from, int64_t last, bool goes_on) {
  FakeCurve::Options curve = Line();
  curve.meddle = [=](Observation& observation, int64_t) {
    if (!observation.ok() || observation.trial.batch < from) return;
    std::vector<StepObservation>& steps = observation.steps;
    for (StepObservation& step : steps) step.retries = step.step <= last;
    while (goes_on && GoesOn(observation.trial, steps)) {
      steps.push_back(steps.back());
      ++steps.back().step;
      steps.back().retries = 0;
    }
  };
  return curve;
}

TEST(SearchWarmUpTest, LongOne_IsConfirmedWithABatchALittleBelow) {
  FakeCurve curve(LongWarmUp(60, 5, /*goes_on=*/true));
  const Search search = Finish(Plain(), curve);
  EXPECT_EQ(search.outcome().status, ResultStatus::kConfirmed);
  EXPECT_EQ(search.outcome().confirmed_batch, kFits);
  EXPECT_THAT(curve.batches(), ElementsAre(1, 4, 16, 34, 71, 69));
  const Observation& confirming = search.observations()[*search.outcome().confirming_observation];
  EXPECT_EQ(confirming.trial.batch, kFits);
  EXPECT_EQ(confirming.steps.size(), 10u);
  EXPECT_EQ(search.outcome().samples_stepped, 3 * (1 + 4 + 16 + 34) + 10 * (71 + 69));
}

TEST(SearchWarmUpTest, OrdinaryOne_NeedsNoOther) {
  FakeCurve curve(LongWarmUp(60, 3, /*goes_on=*/true));
  EXPECT_EQ(Finish(Plain(), curve).outcome().confirmed_batch, kFits);
  EXPECT_THAT(curve.batches(), ElementsAre(1, 4, 16, 34, 71));
}

TEST(SearchWarmUpTest, BatchALittleBelowFails_IsNoAnswer) {
  FakeCurve::Options options = LongWarmUp(60, 5, /*goes_on=*/true);
  options.meddle = [warm_up = options.meddle](Observation& observation, int64_t nth) {
    warm_up(observation, nth);
    const bool hole = observation.trial.batch >= 67 && observation.trial.batch <= 70;
    if (hole) observation.failure = Failure{.kind = FailureKind::kOutOfMemory, .step = 2};
  };
  const Search search = Finish(Plain(), options);
  EXPECT_LE(search.outcome().confirmed_batch, 66);
  EXPECT_GE(search.outcome().confirmed_batch, 64);
}

TEST(SearchWarmUpTest, TrialThatCannotGoOn_GetsMoreSteps) {
  const Search search = Finish(Plain(), LongWarmUp(70, 5, /*goes_on=*/false));
  EXPECT_EQ(search.outcome().confirmed_batch, kFits);
  const Observation& confirming = search.observations()[*search.outcome().confirming_observation];
  EXPECT_EQ(confirming.trial.steps, 16);
}

TEST(SearchWarmUpTest, NoTimeForMoreSteps_StepsDownInstead) {
  FakeCurve::Options options = LongWarmUp(70, 5, /*goes_on=*/false);
  options.ms_per_sample = 100;
  FakeCurve curve(options);
  Search search = *Search::Create(Plain());
  absl::Duration time = absl::Seconds(200);
  search.SetTimeLeft(time);
  while (const std::optional<TrialSpec> trial = search.NextTrial()) {
    const Observation seen = curve.Run(*trial);
    time -= absl::Milliseconds(seen.trial_ms);
    search.Observe(seen);
    search.SetTimeLeft(time);
  }
  EXPECT_GE(time, absl::ZeroDuration());
  EXPECT_EQ(search.outcome().confirmed_batch, 69);
}

TEST(SearchWarmUpTest, StoppedBeforeTheBatchBelow_AnswersInPart) {
  FakeCurve curve(LongWarmUp(60, 5, /*goes_on=*/true));
  Search search = *Search::Create(Plain());
  while (search.NextTrial()->batch != 69) search.Observe(curve.Run(*search.NextTrial()));
  search.Stop({.kind = FailureKind::kCancelled, .message = "interrupted"});
  EXPECT_EQ(search.outcome().status, ResultStatus::kPartial);
  EXPECT_EQ(search.outcome().confirmed_batch, kFits);
  EXPECT_THAT(Warnings(search), HasSubstr("was long in warming up"));
}

TEST(SearchWarmUpTest, Verified_WasLookedBelowBefore) {
  SearchOptions options = Plain();
  options.cached_batch = 65;
  FakeCurve curve(LongWarmUp(60, 5, /*goes_on=*/true));
  EXPECT_EQ(Finish(options, curve).outcome().confirmed_batch, 65);
  EXPECT_THAT(curve.batches(), ElementsAre(65));
}

TEST(SearchWarmUpTest, TimeLimit_KeepsToThePlannedSteps) {
  for (const bool limited : {true, false}) {
    FakeCurve curve(Line());
    Search search = *Search::Create(Plain());
    if (limited) search.SetTimeLeft(absl::Hours(1));
    int64_t longest = 0;
    while (const std::optional<TrialSpec> trial = search.NextTrial()) {
      longest = std::max(longest, trial->most_steps);
      search.Observe(curve.Run(*trial));
    }
    EXPECT_EQ(longest, limited ? 0 : 32);
  }
}

// The peak grows by 2 % each time that the steps double, up to `settles_at` of them.
void GrowUntil(int64_t settles_at, Observation& observation) {
  const int64_t steps = observation.trial.steps;
  if (!observation.ok() || steps < 8) return;
  observation.unsettled = steps < settles_at;
  const double doublings = std::log2(static_cast<double>(std::min(steps, settles_at)) / 8);
  int64_t& peak = observation.steady->reserved_bytes;
  peak += static_cast<int64_t>(0.02 * doublings * static_cast<double>(peak));
}

// There is room for the growth.
SearchOptions UpTo(int64_t batch) {
  SearchOptions options = Plain();
  options.max_batch = batch;
  return options;
}

TEST(SearchWarmUpTest, UnsettledPeak_GetsMoreStepsUpToAPoint) {
  for (const int64_t settles_at : {16, 64}) {
    FakeCurve::Options curve = Line();
    curve.meddle = [&](Observation& observation, int64_t) { GrowUntil(settles_at, observation); };
    const Search search = Finish(UpTo(50), curve);
    const Observation& confirming = search.observations()[*search.outcome().confirming_observation];
    EXPECT_EQ(confirming.trial.batch, 50);
    EXPECT_EQ(confirming.trial.steps, std::min<int64_t>(settles_at, 32));
    EXPECT_EQ(Warnings(search).find("memory still grew") != std::string::npos, settles_at > 32);
  }
}

TEST(SearchWarmUpTest, NoiseOfAFlatPeak_IsNoGrowthOnceMoreStepsTookNoMore) {
  FakeCurve::Options curve = Line();
  curve.noise = 0.004;
  curve.meddle = [](Observation& observation, int64_t) { observation.unsettled = true; };
  const Search search = Finish(Plain(), curve);
  const Observation& confirming = search.observations()[*search.outcome().confirming_observation];
  EXPECT_EQ(confirming.trial.steps, 16);
  EXPECT_EQ(Warnings(search), "");
}

// An hour for all of it, of which nothing is left for more steps once the batch has run.
TEST(SearchWarmUpTest, UnsettledPeakAndNoTimeForMoreSteps_IsTheAnswerAllTheSame) {
  for (const bool stopped : {false, true}) {
    FakeCurve::Options options = Line();
    options.meddle = [](Observation& observation, int64_t) { GrowUntil(64, observation); };
    FakeCurve curve(options);
    Search search = *Search::Create(UpTo(50));
    search.SetTimeLeft(absl::Hours(1));
    while (search.NextTrial()->purpose == TrialPurpose::kExplore) {
      search.Observe(curve.Run(*search.NextTrial()));
    }
    const int64_t batch = search.NextTrial()->batch;
    search.Observe(curve.Run(*search.NextTrial()));
    ASSERT_EQ(search.NextTrial()->steps, 16);
    if (stopped) {
      search.Stop({.kind = FailureKind::kCancelled, .message = "interrupted"});
    } else {
      search.SetTimeLeft(absl::Milliseconds(1));
    }
    EXPECT_EQ(search.outcome().confirmed_batch, batch);
    EXPECT_THAT(Warnings(search), HasSubstr("memory still grew after 8 steps"));
  }
}

}  // namespace
}  // namespace autobatch
