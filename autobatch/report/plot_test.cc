#include "autobatch/report/plot.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <regex>
#include <set>

#include "absl/strings/str_cat.h"
#include "autobatch/base/units.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NiceTicksTest, Steps_AreOneTwoOrFiveTimesAPowerOfTen) {
  EXPECT_THAT(NiceTicks(23.5, 5, 0), ElementsAre(0, 5, 10, 15, 20));
  EXPECT_THAT(NiceTicks(0.9, 5, 0),
              ElementsAre(0, 0.2, 0.4, ::testing::DoubleEq(0.6000000000000001), 0.8));
  EXPECT_THAT(NiceTicks(1.12, 6, 1), ElementsAre(0, 1));
}

TEST(NiceTicksTest, AnyRange_HasAFewTicksWithinIt) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 1000; ++i) {
    const double max = std::exp(std::uniform_real_distribution<>(-10, 30)(random));
    const std::vector<double> ticks = NiceTicks(max, 5, 0);
    EXPECT_GE(ticks.size(), 3u);
    EXPECT_LE(ticks.size(), 9u);
    EXPECT_LE(ticks.back(), max);
  }
}

Observation Trial(TrialPurpose purpose, std::optional<FailureKind> failure) {
  Observation observation;
  observation.trial = {.purpose = purpose, .batch = 8};
  if (failure.has_value()) observation.failure = Failure{.kind = *failure};
  return observation;
}

// The shapes with their colours' classes and places taken away.
std::string Shape(const Observation& observation) {
  DeviceResult result;
  result.budget_bytes = kGiB;
  result.observations = {observation};
  const std::string svg = MemoryPlot(result, 0);
  const size_t at = svg.find("class=\"point\"");
  const size_t from = svg.find("</title>", at);
  return std::regex_replace(svg.substr(from, svg.find("</g>", from) - from),
                            std::regex("(class=\"(ran|good|bad|odd) ?|M[-.0-9]+ [-.0-9]+|"
                                       "(c?[xy])=\"[^\"]*\")"),
                            "");
}

TEST(MemoryPlotTest, PurposeAndOutcome_DifferInShapeNotOnlyInColour) {
  std::set<std::string> shapes;
  for (const TrialPurpose purpose : {TrialPurpose::kExplore, TrialPurpose::kConfirm,
                                     TrialPurpose::kVerify, TrialPurpose::kProfile}) {
    shapes.insert(Shape(Trial(purpose, std::nullopt)));
  }
  for (const FailureKind kind :
       {FailureKind::kOutOfMemory, FailureKind::kSuspectedOutOfMemory, FailureKind::kModelError}) {
    shapes.insert(Shape(Trial(TrialPurpose::kExplore, kind)));
  }
  EXPECT_EQ(shapes.size(), 7u);
}

TEST(MemoryPlotTest, FailureWithoutAPeak_StandsAtTheBudget) {
  DeviceResult result;
  result.budget_bytes = 10 * kGiB;
  result.observations = {Trial(TrialPurpose::kExplore, FailureKind::kOutOfMemory)};
  const std::string svg = MemoryPlot(result, 0);
  EXPECT_THAT(svg, HasSubstr("memory unknown"));
  // The budget line lies at 322 - 288 / 1.12 = 64.9; the cross reaches 5.5 above it.
  EXPECT_THAT(svg, HasSubstr("y1=\"64.9\""));
  EXPECT_THAT(svg, HasSubstr(" 59.4l11 11"));
}

TEST(MemoryPlotTest, AllocationThatFailed_StandsOnTopOfThePeak) {
  DeviceResult result;
  result.budget_bytes = 10 * kGiB;
  result.observations = {Trial(TrialPurpose::kExplore, FailureKind::kOutOfMemory)};
  result.observations[0].steady = MemoryPeak{.reserved_bytes = 9 * kGiB};
  result.observations[0].failure->requested_bytes = 1 * kGiB;
  const std::string svg = MemoryPlot(result, 0);
  EXPECT_THAT(svg, HasSubstr("peak 9.00 GiB; shown at the peak plus the 1.00 GiB that failed"));
  EXPECT_THAT(svg, HasSubstr(" 59.4l11 11"));  // At the budget: 9 + 1 GiB.
}

TEST(MemoryPlotTest, NoMemoryKnown_DrawsNothing) {
  DeviceResult result;
  EXPECT_EQ(MemoryPlot(result, 0), "");
  result.observations = {Trial(TrialPurpose::kExplore, FailureKind::kCannotStart)};
  EXPECT_EQ(MemoryPlot(result, 0), "");
}

}  // namespace
}  // namespace autobatch
