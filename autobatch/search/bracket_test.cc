#include "autobatch/search/bracket.h"

#include <gtest/gtest.h>

namespace autobatch {
namespace {

std::vector<int64_t> Batches(const std::vector<MemoryPoint>& points) {
  std::vector<int64_t> batches;
  batches.reserve(points.size());
  for (const MemoryPoint& point : points) batches.push_back(point.batch);
  return batches;
}

TEST(BracketTest, Empty_KnowsNothing) {
  const Bracket bracket;
  EXPECT_FALSE(bracket.Largest().has_value());
  EXPECT_FALSE(bracket.ceiling().has_value());
  EXPECT_FALSE(bracket.confirmed().has_value());
  EXPECT_TRUE(bracket.Points().empty());
}

TEST(BracketTest, SameBatchTwice_KeepsTheGreaterPeak) {
  Bracket bracket;
  bracket.AddRan({4, 100, 10});
  bracket.AddRan({4, 90, 0});
  ASSERT_EQ(bracket.ran().size(), 1u);
  EXPECT_EQ(bracket.ran()[0].peak_bytes, 100);
  EXPECT_EQ(bracket.ran()[0].rate, 10);
  bracket.AddRan({4, 110, 12});
  EXPECT_EQ(bracket.ran()[0].peak_bytes, 110);
  EXPECT_EQ(bracket.ran()[0].rate, 12);
}

TEST(BracketTest, FailureBelowOneThatRan_CountsForTheLargerOneToo) {
  Bracket bracket;
  bracket.AddRan({8, 80, 0});
  bracket.AddRan({16, 160, 0});
  bracket.AddFailed(12, BatchBound::kMemory);
  EXPECT_EQ(bracket.Largest()->batch, 8);
  EXPECT_EQ(bracket.ceiling()->batch, 12);
}

TEST(BracketTest, SeveralFailures_TheSmallestIsTheCeiling) {
  Bracket bracket;
  bracket.AddFailed(12, BatchBound::kFailure);
  bracket.AddFailed(16, BatchBound::kMemory);
  EXPECT_EQ(bracket.ceiling()->batch, 12);
  EXPECT_EQ(bracket.ceiling()->bound, BatchBound::kFailure);
  EXPECT_EQ(bracket.failures_in_a_row(), 2);
  EXPECT_FALSE(bracket.ran_below_ceiling());
  bracket.AddRan({8, 80, 0});
  EXPECT_EQ(bracket.failures_in_a_row(), 0);
  EXPECT_TRUE(bracket.ran_below_ceiling());
}

TEST(BracketTest, Confirmed_TheLargestStaysAndNamesItsTrial) {
  Bracket bracket;
  bracket.AddConfirmed({8, 80, 0}, 3);
  bracket.AddConfirmed({12, 120, 0}, 5);
  bracket.AddConfirmed({10, 100, 0}, 7);
  EXPECT_EQ(bracket.confirmed()->batch, 12);
  EXPECT_EQ(bracket.confirmed_index(), 5u);
}

TEST(BracketTest, CloseNeighbours_AreLeftOutOfTheFitButNotTheLargest) {
  Bracket bracket;
  for (const int64_t batch : {1, 4, 16, 60, 62, 64}) bracket.AddRan({batch, 10 * batch, 0});
  EXPECT_EQ(Batches(bracket.Points()), (std::vector<int64_t>{64, 16, 4, 1}));
}

}  // namespace
}  // namespace autobatch
