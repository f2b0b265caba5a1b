#include "autobatch/memory/polyfit.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace autobatch {
namespace {

using Doubles = std::vector<double>;

TEST(Polyfit, AffinePoints_GiveTheirLine) {
  const auto line = FitLine(Doubles{1, 2, 4, 8, 16}, Doubles{3.5, 4.0, 5.0, 7.0, 11.0});
  ASSERT_TRUE(line.ok());
  EXPECT_NEAR(line->slope, 0.5, 1e-14);
  EXPECT_NEAR(line->intercept, 3.0, 1e-14);
}

TEST(Polyfit, ScatteredPoints_GiveLeastSquares) {
  // numpy.polyfit([1, 2, 4], [1, 3, 2], 1)
  const auto line = FitLine(Doubles{1, 2, 4}, Doubles{1, 3, 2});
  ASSERT_TRUE(line.ok());
  EXPECT_NEAR(line->slope, 3.0 / 14, 1e-15);
  EXPECT_NEAR(line->intercept, 1.5, 1e-15);
}

TEST(Polyfit, OnePoint_GivesTheShortestSolutionInScaledColumns) {
  const auto at_one = FitLine(Doubles{1}, Doubles{3});
  ASSERT_TRUE(at_one.ok());
  EXPECT_DOUBLE_EQ(at_one->slope, 1.5);
  EXPECT_DOUBLE_EQ(at_one->intercept, 1.5);
  const auto at_four = FitLine(Doubles{4}, Doubles{3});
  ASSERT_TRUE(at_four.ok());
  EXPECT_DOUBLE_EQ(at_four->slope, 0.375);
  EXPECT_DOUBLE_EQ(at_four->intercept, 1.5);
}

TEST(Polyfit, PointsOfOneX_AreOfRankOne) {
  const auto line = FitLine(Doubles{2, 2}, Doubles{4, 8});
  ASSERT_TRUE(line.ok());
  EXPECT_NEAR(line->At(2), 6, 1e-14);
  EXPECT_NEAR(line->intercept, 3, 1e-14);
}

TEST(Polyfit, ZeroY_GivesExactlyZero) {
  const auto line = FitLine(Doubles{1, 2, 4}, Doubles{0, 0, 0});
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->slope, 0);
  EXPECT_EQ(line->intercept, 0);
}

TEST(Polyfit, YThatIsNotFinite_GivesNan) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const auto line = FitLine(Doubles{1, 2, 4}, Doubles{1, bad, 2});
    ASSERT_TRUE(line.ok());
    EXPECT_TRUE(std::isnan(line->slope));
    EXPECT_TRUE(std::isnan(line->intercept));
  }
}

TEST(Polyfit, InputThatCannotBeFitted_IsAnErrorInNumpysWords) {
  EXPECT_EQ(FitLine({}, {}).status().message(), "expected non-empty vector for x");
  EXPECT_EQ(FitLine(Doubles{1, 2}, Doubles{1}).status().message(),
            "expected x and y to have same length");
  EXPECT_EQ(FitLine(Doubles{0}, Doubles{1}).status().message(),
            "SVD did not converge in Linear Least Squares");
  EXPECT_EQ(FitLine(Doubles{1, std::nan("")}, Doubles{1, 2}).status().message(),
            "SVD did not converge in Linear Least Squares");
}

TEST(Line, InfiniteX_IsNan) {
  EXPECT_TRUE(std::isnan(Line({1, 2}).At(-std::numeric_limits<double>::infinity())));
  EXPECT_EQ(Line({2, 1}).At(3), 7);
}

}  // namespace
}  // namespace autobatch
