// The bars of the benchmark on fewer curves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autobatch/search/curve_race.h"

namespace autobatch {
namespace {

TEST(SearchPropertyTest, RandomCurves_EveryBarHolds) {
  constexpr uint64_t kFirstSeed = 100000;
  const RaceResult result = RunRace(1200, kFirstSeed);
  EXPECT_THAT(result.BrokenBars(), testing::IsEmpty()) << "first seed " << kFirstSeed << "\n"
                                                       << result.Table();
}

TEST(SearchPropertyTest, RandomCurves_NoneEndsWithoutAnAnswer) {
  const RaceResult result = RunRace(1200, 200000);
  for (const RaceRun& run : result.contestants.front().runs) {
    EXPECT_GT(run.answer, 0) << "true maximum " << run.true_maximum << ", first seed 200000";
    EXPECT_LE(run.trials, 40) << "true maximum " << run.true_maximum << ", first seed 200000";
  }
}

}  // namespace
}  // namespace autobatch
