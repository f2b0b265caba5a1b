// The bars of the benchmark on fewer curves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "autobatch/base/units.h"
#include "autobatch/search/curve_race.h"
#include "autobatch/search/fake_curve.h"
#include "autobatch/search/finished_search.h"
#include "autobatch/search/search.h"
#include "autobatch/search/usual_curve.h"
#include "autobatch/types/failure.h"
#include "autobatch/types/observation.h"

namespace autobatch {
namespace {

constexpr uint64_t kFirstSeed = 100000;

TEST(SearchPropertyTest, RandomCurves_EveryBarHoldsAndEverySearchEnds) {
  const RaceResult result = RunRace(1200, kFirstSeed);
  EXPECT_THAT(result.BrokenBars(), testing::IsEmpty()) << result.Table();
  for (const RaceRun& run : result.contestants.front().runs) {
    EXPECT_GT(run.answer, 0) << "true maximum " << run.true_maximum << "\n" << result.Table();
    EXPECT_LE(run.trials, 40) << "true maximum " << run.true_maximum << "\n" << result.Table();
  }
}

// The line promises more than runs, as of an allocator in pieces: all beyond `runs` fails, in words
// that do not say memory.
FakeCurve::Options BrokenPromise(int64_t runs) {
  FakeCurve::Options curve;
  curve.intercept_bytes = 10 * kMiB;
  curve.slope_bytes = static_cast<double>(kMiB);
  curve.free_bytes = 18000 * kMiB;
  curve.meddle = [runs](Observation& observation, int64_t) {
    if (observation.trial.batch <= runs) return;
    observation.failure = Failure{.kind = FailureKind::kSuspectedOutOfMemory};
  };
  return curve;
}

TEST(SearchPropertyTest, BrokenPromise_IsBelievedAfterOneRetryAndNoTrialIsForAHair) {
  int64_t wasted = 0;
  int64_t searches = 0;
  for (int64_t runs = 12000; runs < 18000; runs += 37) {
    SCOPED_TRACE(runs);
    ++searches;
    const SearchOptions options = Plain();
    FakeCurve curve(BrokenPromise(runs));
    const Search search = Finish(options, curve);
    const int64_t answer = *search.outcome().confirmed_batch;
    EXPECT_GE(answer, static_cast<int64_t>((1 - options.precision) * static_cast<double>(runs)));
    int64_t again = 0;
    const std::vector<int64_t>& batches = curve.batches();
    for (size_t i = 1; i < batches.size(); ++i) again += batches[i] == batches[i - 1] ? 1 : 0;
    EXPECT_LE(again, 1);
    for (auto it = batches.rbegin(); it != batches.rend() && *it != answer; ++it) ++wasted;
  }
  EXPECT_LE(wasted, searches) << "one that fails after the answer is the bracket's end";
}

}  // namespace
}  // namespace autobatch
