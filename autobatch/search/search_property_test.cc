// The bars of the benchmark on fewer curves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autobatch/search/curve_race.h"

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

}  // namespace
}  // namespace autobatch
