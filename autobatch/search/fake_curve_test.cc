#include "autobatch/search/fake_curve.h"

#include <gtest/gtest.h>

#include "autobatch/types/failure.h"

namespace autobatch {
namespace {

FakeCurve::Options Line() {
  FakeCurve::Options curve;
  curve.floor_bytes = 300;
  curve.intercept_bytes = 100;
  curve.slope_bytes = 10;
  curve.free_bytes = 1000;
  return curve;
}

TEST(FakeCurveTest, Bytes_AreFloorThenLineThenJumpInStairs) {
  FakeCurve::Options options = Line();
  options.jumps = {{50, 205}};
  options.stair_bytes = 10;
  const FakeCurve curve(options);
  EXPECT_EQ(curve.Bytes(1), 300);
  EXPECT_EQ(curve.Bytes(40), 500);
  EXPECT_EQ(curve.Bytes(50), 810);
  EXPECT_EQ(curve.TrueMaximum(1000, 1000), 69);
  EXPECT_EQ(curve.TrueMaximum(1000, 60), 60);
  EXPECT_EQ(curve.TrueMaximum(299, 60), 0);
}

TEST(FakeCurveTest, Run_FitsOrFailsByTheLesserLimit) {
  FakeCurve curve(Line());
  EXPECT_TRUE(curve.Run({.batch = 90}).ok());
  EXPECT_EQ(curve.Run({.batch = 91}).failure->kind, FailureKind::kOutOfMemory);
  EXPECT_FALSE(curve.Run({.batch = 90, .reserve_bytes = 1}).ok());
  EXPECT_FALSE(curve.Run({.batch = 90, .limit_bytes = 999}).ok());
  EXPECT_EQ(curve.Run({.batch = 90, .limit_bytes = 5000}).budget_bytes, 1000);
}

TEST(FakeCurveTest, RandomCurve_IsTheSameForTheSameSeedAndNearItsMaximum) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const FakeCurve one(RandomCurve(seed, 100));
    const FakeCurve two(RandomCurve(seed, 100));
    for (const int64_t batch : {1, 10, 100}) EXPECT_EQ(one.Bytes(batch), two.Bytes(batch));
    const int64_t maximum = one.TrueMaximum(RandomCurve(seed, 100).free_bytes, 1000);
    EXPECT_GT(maximum, 50) << "seed " << seed;
    EXPECT_LT(maximum, 150) << "seed " << seed;
  }
}

}  // namespace
}  // namespace autobatch
