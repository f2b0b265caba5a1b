// What ends a search besides failures: rules, caps, time, throughput, budgets that change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "autobatch/base/units.h"
#include "autobatch/search/fake_curve.h"
#include "autobatch/search/finished_search.h"
#include "autobatch/search/search.h"
#include "autobatch/search/usual_curve.h"

namespace autobatch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Failure Of(FailureKind kind) { return {.kind = kind, .message = "made up", .step = 2}; }

// With a clock: every trial takes what it says, and is ended when its time is up.
Search FinishWithin(absl::Duration time, const SearchOptions& options, FakeCurve& curve) {
  Search search = *Search::Create(options);
  search.SetTimeLeft(time);
  while (const std::optional<TrialSpec> trial = search.NextTrial()) {
    Observation observation = curve.Run(*trial);
    const double most_ms = absl::ToDoubleMilliseconds(search.TimeForNext());
    if (observation.trial_ms > most_ms) {
      observation = {.failure = Of(FailureKind::kTimeout), .trial_ms = most_ms};
    }
    time -= absl::Milliseconds(observation.trial_ms);
    search.Observe(observation);
    search.SetTimeLeft(time);
  }
  EXPECT_GE(time, absl::ZeroDuration()) << "a trial outlasted its time";
  return search;
}

TEST(SearchCreateTest, BadOptions_AreRefusedInWords) {
  const auto refused = [](void (*change)(SearchOptions&), const char* words) {
    SearchOptions options = Plain();
    change(options);
    const absl::Status status = Search::Create(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  };
  refused([](SearchOptions& o) { o.precision = -0.01; }, "precision");
  refused([](SearchOptions& o) { o.max_batch = 0; }, "max batch 0");
  refused([](SearchOptions& o) { o.multiple_of = 0; }, "multiple of 0");
  refused([](SearchOptions& o) { o.budget.world_size = 0; }, "world size");
}

TEST(SearchRuleTest, MultipleOf_RoundsDownAndConfirmsTheRounded) {
  SearchOptions options = Plain();
  options.multiple_of = 8;
  const Search search = Finish(options, Line());
  EXPECT_EQ(search.outcome().confirmed_batch, 64);
  EXPECT_EQ(search.outcome().bound, BatchBound::kMemory);
}

TEST(SearchRuleTest, PowerOfTwo_RoundsDownAndConfirmsTheRounded) {
  SearchOptions options = Plain();
  options.power_of_two = true;
  EXPECT_EQ(Finish(options, Line()).outcome().confirmed_batch, 64);
}

TEST(SearchRuleTest, LeastAllowedDoesNotFit_SaysSoAndKeepsTheNeed) {
  SearchOptions options = Plain();
  options.multiple_of = 128;
  const Search search = Finish(options, Line());
  EXPECT_EQ(search.outcome().status, ResultStatus::kFailed);
  EXPECT_EQ(search.outcome().failure->kind, FailureKind::kOutOfMemory);
  EXPECT_THAT(search.outcome().failure->message, HasSubstr("not even a batch of 128 fits"));
}

TEST(SearchRuleTest, MinBatch_IsWhereItStarts) {
  SearchOptions options = Plain();
  options.min_batch = 6;
  FakeCurve curve(Line());
  EXPECT_EQ(Finish(options, curve).outcome().confirmed_batch, kFits);
  EXPECT_EQ(curve.batches().front(), 6);
}

TEST(SearchCapTest, SmallCapThatFits_IsConfirmedAtOnce) {
  SearchOptions options = Plain();
  options.max_batch = 7;
  options.max_batch_bound = BatchBound::kDataset;
  FakeCurve curve(Line());
  const Search search = Finish(options, curve);
  EXPECT_EQ(search.outcome().confirmed_batch, 7);
  EXPECT_EQ(search.outcome().bound, BatchBound::kDataset);
  EXPECT_THAT(curve.batches(), ElementsAre(1, 7));
}

TEST(SearchCapTest, EveryCap_IsReachedAndNeverExceeded) {
  for (int64_t cap = 1; cap <= 80; ++cap) {
    SearchOptions options = Plain();
    options.max_batch = cap;
    const Search search = Finish(options, Line());
    EXPECT_EQ(search.outcome().confirmed_batch, std::min(cap, kFits)) << "cap " << cap;
    EXPECT_EQ(search.outcome().bound, cap <= kFits ? BatchBound::kMaxBatch : BatchBound::kMemory);
  }
}

TEST(SearchBudgetTest, NothingFits_NamesNeedAndBudget) {
  FakeCurve::Options curve = Line();
  curve.free_bytes = kGiB;
  const Search search = Finish(Plain(), curve);
  EXPECT_EQ(search.outcome().status, ResultStatus::kFailed);
  EXPECT_EQ(search.outcome().smallest_failing_batch, 1);
  EXPECT_THAT(search.outcome().failure->message,
              HasSubstr("not even a batch of 1 fits: it needs at least 1.10 GiB, and the budget is "
                        "1.00 GiB"));
  EXPECT_FALSE(search.outcome().failure->advice.empty());
}

TEST(SearchBudgetTest, NoHardLimit_OverBudgetIsNoAnswerAllTheSame) {
  // Watched from outside: all of it runs, and only the driver's reading tells the budget.
  FakeCurve::Options curve = Line();
  curve.meddle = [](Observation& observation, int64_t) {
    const int64_t bytes = FakeCurve(Line()).Bytes(observation.trial.batch);
    observation.failure.reset();
    observation.budget_bytes.reset();
    observation.steady = MemoryPeak{bytes, bytes};
  };
  curve.noise = 0;
  SearchOptions options = Plain();
  options.budget.headroom_bytes = kGiB;
  const Search search = Finish(options, curve);
  EXPECT_EQ(search.outcome().confirmed_batch, 61);
  EXPECT_EQ(search.outcome().budget_bytes, 7 * kGiB);
}

TEST(SearchBudgetTest, NoHardLimitAndMoreThanPredicted_StepsDown) {
  FakeCurve::Options curve = Line();
  curve.jumps = {{50, 1.0 * kGiB}};
  const FakeCurve memory(curve);
  curve.meddle = [&](Observation& observation, int64_t) {
    const int64_t bytes = memory.Bytes(observation.trial.batch);
    observation.failure.reset();
    observation.budget_bytes.reset();
    observation.steady = MemoryPeak{bytes, bytes};
  };
  FakeCurve fake(curve);
  const Search search = Finish(Plain(), fake);
  EXPECT_EQ(std::count(fake.batches().begin(), fake.batches().end(), 71), 1);
  const Observation& confirming = search.observations()[*search.outcome().confirming_observation];
  EXPECT_LE(confirming.PeakReserved(), 8 * kGiB);
  EXPECT_GE(*search.outcome().confirmed_batch, 59);
  EXPECT_LE(*search.outcome().confirmed_batch, 61);
}

TEST(SearchBudgetTest, HoleAtTheLimit_IsPassedByOneSmallStep) {
  FakeCurve::Options curve = Line();
  curve.meddle = [](Observation& observation, int64_t) {
    if (observation.trial.batch >= 70) {
      observation.failure = Failure{.kind = FailureKind::kOutOfMemory, .step = 2};
    }
  };
  FakeCurve fake(curve);
  EXPECT_EQ(Finish(Plain(), fake).outcome().confirmed_batch, 69);
  EXPECT_THAT(fake.batches(), ElementsAre(1, 4, 16, 34, 71, 69));
}

TEST(SearchBudgetTest, BudgetUnknown_OnlyFailuresTell) {
  FakeCurve::Options curve = Line();
  curve.budget_unknown = true;
  FakeCurve fake(curve);
  const Search search = Finish(Plain(), fake);
  // No line was trusted, so none is to be stepped down from: the bracket is halved.
  ASSERT_GT(fake.batches().size(), 9u);
  EXPECT_EQ((std::vector<int64_t>(fake.batches().begin() + 6, fake.batches().begin() + 9)),
            (std::vector<int64_t>{64, 128, 96}));
  EXPECT_GE(*search.outcome().confirmed_batch, 69);
  EXPECT_LE(*search.outcome().confirmed_batch, kFits);
  EXPECT_FALSE(search.outcome().budget_bytes.has_value());
}

TEST(SearchBudgetTest, ConfirmingTrialShowsContextGrowth_ConfirmsOnceMoreUnderLess) {
  SearchOptions options = Plain();
  options.budget.device = DeviceKind::kCuda;
  FakeCurve::Options curve = Line();
  curve.meddle = [](Observation& observation, int64_t) {
    if (!observation.ok()) return;
    const bool confirm = observation.trial.purpose == TrialPurpose::kConfirm;
    const int64_t growth = confirm ? kGiB : 0;
    observation.free_after_bytes =
        *observation.free_before_bytes - observation.PeakReserved() - growth;
  };
  const Search search = Finish(options, curve);
  ASSERT_TRUE(search.outcome().confirmed_batch.has_value());
  // 8 GiB less 1 GiB that the context grew by, and a segment.
  EXPECT_EQ(search.outcome().budget_bytes, 7 * kGiB - 20 * kMiB);
  EXPECT_GE(*search.outcome().confirmed_batch, 59);
  EXPECT_LE(*search.outcome().confirmed_batch, 61);
  const Observation& confirming = search.observations()[*search.outcome().confirming_observation];
  EXPECT_EQ(confirming.trial.reserve_bytes, kGiB + 20 * kMiB);
}

TEST(SearchBudgetTest, LaterTrialShowsContextGrowth_ConfirmedBatchIsHeldToIt) {
  // More fits than the line says, so that a second batch is tried after 71; it shows the growth.
  SearchOptions options = Plain();
  options.budget.device = DeviceKind::kCuda;
  FakeCurve::Options curve = Line();
  curve.jumps = {{60, -1.0 * kGiB}};
  curve.meddle = [](Observation& observation, int64_t) {
    if (!observation.ok()) return;
    const int64_t growth = observation.trial.batch > 71 ? 3 * kGiB : 0;
    observation.free_after_bytes =
        *observation.free_before_bytes - observation.PeakReserved() - growth;
  };
  FakeCurve fake(curve);
  const Search search = Finish(options, fake);
  const SearchOutcome& outcome = search.outcome();
  ASSERT_TRUE(outcome.confirmed_batch.has_value());
  EXPECT_EQ(outcome.budget_bytes, 5 * kGiB - 20 * kMiB);
  EXPECT_LE(search.observations()[*outcome.confirming_observation].PeakReserved(),
            *outcome.budget_bytes);
  EXPECT_GE(*outcome.confirmed_batch, 39);
}

TEST(SearchDistrustTest, RanOnAnotherBatch_IsNoResult) {
  FakeCurve::Options curve = Line();
  curve.meddle = [](Observation& observation, int64_t) { observation.batch_seen = 1; };
  const Search search = Finish(Plain(), curve);
  EXPECT_EQ(search.outcome().failure->kind, FailureKind::kBatchIgnored);
  EXPECT_THAT(search.outcome().failure->message, HasSubstr("a batch of 1, not on the 4 asked for"));
}

TEST(SearchDistrustTest, StepsMissing_IsNoResult) {
  FakeCurve::Options curve = Line();
  curve.meddle = [](Observation& observation, int64_t) { observation.steps.resize(1); };
  EXPECT_THAT(Finish(Plain(), curve).outcome().failure->message,
              HasSubstr("only 1 of 3 steps ran"));
}

TEST(SearchDistrustTest, LossNotFinite_IsUnsafeFromThereOn) {
  FakeCurve::Options curve = Line();
  curve.meddle = [](Observation& observation, int64_t) {
    if (observation.ok() && observation.trial.batch > 40) observation.steps[1].loss = NAN;
  };
  const Search search = Finish(Plain(), curve);
  EXPECT_EQ(search.outcome().bound, BatchBound::kFailure);
  EXPECT_GE(*search.outcome().confirmed_batch, 39);
  EXPECT_LE(*search.outcome().confirmed_batch, 40);
  EXPECT_THAT(Warnings(search), HasSubstr("non_finite_loss"));
  // However often it was met on the way down.
  EXPECT_THAT(search.outcome().warnings, SizeIs(1));
}

TEST(SearchFirstTest, ModelErrorAtOneAndTwoDoesNotFit_NamesTheMemory) {
  FakeCurve::Options curve = Line();
  curve.free_bytes = static_cast<int64_t>(1.15 * kGiB);
  curve.meddle = [](Observation& observation, int64_t) {
    if (observation.trial.batch == 1) {
      observation.failure = Failure{.kind = FailureKind::kModelError, .message = "batch norm"};
    }
  };
  const Search search = Finish(Plain(), curve);
  EXPECT_EQ(search.outcome().failure->kind, FailureKind::kOutOfMemory);
  EXPECT_THAT(search.outcome().failure->message, HasSubstr("not even a batch of 2"));
}

TEST(SearchFirstTest, ModelErrorAtOneOnly_IsWarnedOf) {
  FakeCurve::Options curve = Line();
  curve.meddle = [](Observation& observation, int64_t) {
    if (observation.trial.batch == 1) {
      observation.failure = Failure{.kind = FailureKind::kModelError, .message = "batch norm"};
    }
  };
  const Search search = Finish(Plain(), curve);
  EXPECT_EQ(search.outcome().confirmed_batch, kFits);
  EXPECT_FALSE(search.outcome().failure.has_value());
  EXPECT_THAT(Warnings(search), HasSubstr("a batch of 1 does not run: batch norm"));
}

TEST(SearchFirstTest, ModelErrorWhileLoading_IsNotTriedAgain) {
  FakeCurve::Options curve = Line();
  curve.meddle = [](Observation& observation, int64_t) {
    observation.failure = Failure{
        .kind = FailureKind::kModelError, .message = "no such file", .phase = TrialPhase::kLoad};
  };
  const Search search = Finish(Plain(), curve);
  EXPECT_EQ(search.observations().size(), 1);
  EXPECT_THAT(search.outcome().failure->message, HasSubstr("no such file"));
  EXPECT_THAT(Warnings(search), "") << "the failure says it already";
}

TEST(SearchCacheTest, CachedBatchRuns_OneTrialAnswers) {
  SearchOptions options = Plain();
  options.cached_batch = 60;
  options.cached_bound = BatchBound::kThroughput;
  FakeCurve curve(Line());
  const Search search = Finish(options, curve);
  EXPECT_EQ(search.outcome().status, ResultStatus::kConfirmed);
  EXPECT_EQ(search.outcome().confirmed_batch, 60);
  EXPECT_EQ(search.outcome().bound, BatchBound::kThroughput);
  EXPECT_THAT(curve.batches(), ElementsAre(60));
  EXPECT_TRUE(search.observations()[0].trial.fresh_process);
  EXPECT_EQ(search.observations()[0].trial.steps, 8);
}

TEST(SearchCacheTest, CachedBatchTooLarge_SearchesBelowIt) {
  SearchOptions options = Plain();
  options.cached_batch = 90;
  const Search search = Finish(options, Line());
  EXPECT_EQ(search.outcome().confirmed_batch, kFits);
  EXPECT_THAT(Warnings(search), HasSubstr("first guess of 90 does not fit: "));
}

TEST(SearchCacheTest, CachedBatchAgainstTheRules_IsIgnored) {
  SearchOptions options = Plain();
  options.multiple_of = 8;
  for (const int64_t cached : {60, -8, 0, 1 << 20}) {
    options.cached_batch = cached;
    const Search search = *Search::Create(options);
    EXPECT_EQ(search.NextTrial()->purpose, TrialPurpose::kExplore) << cached;
  }
}

TEST(SearchKneeTest, ThroughputLevelsOff_StopsBeforeIt) {
  SearchOptions options = Plain();
  options.throughput_knee = 0.05;
  FakeCurve::Options curve = Line();
  // Up to 8 samples take the time of 8.
  curve.ms_per_step = 80;
  const Search search = Finish(options, curve);
  EXPECT_EQ(search.outcome().bound, BatchBound::kThroughput);
  EXPECT_GE(*search.outcome().confirmed_batch, 8);
  EXPECT_LE(*search.outcome().confirmed_batch, 34);
}

TEST(SearchKneeTest, BatchAtTheKneeFails_GoesBelowIt) {
  SearchOptions options = Plain();
  options.throughput_knee = 0.05;
  FakeCurve::Options curve = Line();
  curve.ms_per_step = 80;
  curve.meddle = [](Observation& observation, int64_t) {
    if (observation.trial.purpose == TrialPurpose::kConfirm && observation.trial.batch > 10) {
      observation.failure = Failure{.kind = FailureKind::kCrashed, .message = "gone"};
    }
  };
  FakeCurve fake(curve);
  const Search search = Finish(options, fake);
  EXPECT_GE(*search.outcome().confirmed_batch, 8);
  EXPECT_LE(*search.outcome().confirmed_batch, 10);
  EXPECT_LT(fake.batches().size(), 12u);
}

TEST(SearchKneeTest, ThroughputStillGrows_MemoryBinds) {
  SearchOptions options = Plain();
  options.throughput_knee = 0.05;
  FakeCurve::Options curve = Line();
  curve.ms_per_step = 1000;
  const Search search = Finish(options, curve);
  EXPECT_EQ(search.outcome().bound, BatchBound::kMemory);
  EXPECT_EQ(search.outcome().confirmed_batch, kFits);
}

TEST(SearchTimeTest, TimeForAFewTrials_ConfirmsTheMostInTime) {
  FakeCurve::Options options = Line();
  options.ms_per_sample = 300;
  FakeCurve curve(options);
  const Search search = FinishWithin(absl::Seconds(60), Plain(), curve);
  const SearchOutcome& outcome = search.outcome();
  EXPECT_EQ(outcome.status, ResultStatus::kPartial);
  EXPECT_EQ(outcome.bound, BatchBound::kTimeLimit);
  EXPECT_EQ(outcome.failure->kind, FailureKind::kTimeout);
  // 8 steps of 300 ms a sample: 25 would take all of the 60 s.
  EXPECT_GE(*outcome.confirmed_batch, 8);
  EXPECT_LE(*outcome.confirmed_batch, 25);
}

TEST(SearchTimeTest, EveryTimeLimit_IsKeptAndUsed) {
  int64_t last = 0;
  for (int seconds = 20; seconds <= 600; seconds += 20) {
    FakeCurve::Options options = Line();
    options.ms_per_sample = 300;
    FakeCurve curve(options);
    const Search search = FinishWithin(absl::Seconds(seconds), Plain(), curve);
    const int64_t batch = search.outcome().confirmed_batch.value_or(0);
    EXPECT_GT(batch, 0) << seconds << " s";
    EXPECT_GE(batch, last) << "more time has cost a part of the answer: " << seconds << " s";
    last = std::max(last, batch);
  }
  EXPECT_EQ(last, kFits);
}

TEST(SearchTimeTest, StepsBecomeSlower_WhatRanIsStillConfirmed) {
  FakeCurve::Options options = Line();
  options.ms_per_sample = 100;
  int64_t largest = 0;
  options.meddle = [&largest](Observation& observation, int64_t) {
    // A busy node: every trial of more than before takes three times what was to be expected.
    if (observation.trial.batch > largest && largest > 0) observation.trial_ms *= 3;
    largest = std::max(largest, observation.trial.batch);
  };
  for (int seconds = 20; seconds <= 120; seconds += 20) {
    largest = 0;
    FakeCurve curve(options);
    const Search search = FinishWithin(absl::Seconds(seconds), Plain(), curve);
    EXPECT_TRUE(search.outcome().confirmed_batch.has_value()) << seconds << " s";
  }
}

TEST(SearchTimeTest, NoTimeForAnyConfirmation_FailsWithTheReason) {
  FakeCurve::Options options = Line();
  options.ms_per_sample = 3000;
  FakeCurve curve(options);
  const Search search = FinishWithin(absl::Seconds(20), Plain(), curve);
  EXPECT_EQ(search.outcome().status, ResultStatus::kFailed);
  EXPECT_EQ(search.outcome().failure->kind, FailureKind::kTimeout);
  EXPECT_THAT(Warnings(search), HasSubstr("a batch of 1 ran while exploring"));
}

TEST(SearchStopTest, BeforeAnything_Fails) {
  Search search = *Search::Create(Plain());
  search.Stop({.kind = FailureKind::kCancelled, .message = "interrupted"});
  EXPECT_FALSE(search.NextTrial().has_value());
  EXPECT_EQ(search.outcome().status, ResultStatus::kFailed);
  EXPECT_EQ(search.outcome().failure->message, "interrupted");
}

TEST(SearchStopTest, AfterAConfirmation_IsPartialAndStaysSo) {
  // More fits than the line says: the search goes on after the first confirmation.
  FakeCurve::Options options = Line();
  options.jumps = {{60, -1.0 * kGiB}};
  FakeCurve curve(options);
  Search search = *Search::Create(Plain());
  while (const std::optional<TrialSpec> trial = search.NextTrial()) {
    search.Observe(curve.Run(*trial));
    if (trial->purpose == TrialPurpose::kConfirm && search.observations().back().ok()) break;
  }
  ASSERT_TRUE(search.NextTrial().has_value()) << "the curve leaves nothing to stop";
  search.Stop({.kind = FailureKind::kCancelled, .message = "interrupted"});
  EXPECT_EQ(search.outcome().status, ResultStatus::kPartial);
  const std::optional<int64_t> confirmed = search.outcome().confirmed_batch;
  ASSERT_TRUE(confirmed.has_value());
  const size_t trials = search.observations().size();
  search.Stop({.kind = FailureKind::kTimeout});
  search.SetTimeLeft(absl::ZeroDuration());
  search.Observe(curve.Run({.batch = 100}));
  EXPECT_EQ(search.outcome().failure->message, "interrupted");
  EXPECT_EQ(search.outcome().confirmed_batch, confirmed);
  EXPECT_EQ(search.observations().size(), trials);
}

TEST(SearchStopTest, AbsurdRange_SettlesForWhatRan) {
  SearchOptions options = Plain();
  options.precision = 0;
  options.max_batch = int64_t{1} << 40;
  FakeCurve::Options curve = Line();
  curve.slope_bytes = 1.0 / 128;
  curve.budget_unknown = true;
  FakeCurve fake(curve);
  const Search search = Finish(options, fake);
  EXPECT_EQ(search.outcome().status, ResultStatus::kConfirmed);
  EXPECT_GE(*search.outcome().confirmed_batch, int64_t{7} << 36);
  EXPECT_LE(fake.batches().size(), 50u);
}

TEST(SearchStopTest, WorkloadAnswersAtRandom_EndsAllTheSame) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    uint64_t state = seed;
    FakeCurve::Options curve = Line();
    curve.meddle = [&](Observation& observation, int64_t) {
      state = state * 6364136223846793005 + 1442695040888963407;
      switch (state >> 61) {
        case 0:
          observation.failure = Failure{.kind = FailureKind::kOutOfMemory};
          break;
        case 1:
          observation.failure = Failure{.kind = FailureKind::kCrashed};
          break;
        case 2:
          observation.failure = Failure{.kind = FailureKind::kSuspectedOutOfMemory};
          break;
        case 3:
          observation.unsettled = true;
          break;
        default:
          observation.steady = MemoryPeak{static_cast<int64_t>(state >> 30), 0};
      }
    };
    FakeCurve fake(curve);
    const Search search = Finish(Plain(), fake);
    EXPECT_LE(fake.batches().size(), 64u) << "seed " << seed;
    if (!search.outcome().confirmed_batch.has_value()) {
      EXPECT_TRUE(search.outcome().failure.has_value()) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace autobatch
