#include "orchestrator/core/misconduct.h"

#include <gtest/gtest.h>

namespace autobatch {
namespace {

constexpr SteadyTime kStart{};

TEST(MisconductTest, Note_OnceTooOften_StaysOutForAWhile) {
  Misconduct misconduct(10);
  EXPECT_FALSE(misconduct.Note("a", kStart));
  EXPECT_FALSE(misconduct.Note("a", kStart));
  EXPECT_EQ(misconduct.Out("a", kStart), absl::ZeroDuration());
  const SteadyTime later = Add(kStart, absl::Seconds(60));
  EXPECT_TRUE(misconduct.Note("a", later));
  EXPECT_EQ(misconduct.Out("a", later), Misconduct::kTime);
  EXPECT_EQ(misconduct.Out("b", later), absl::ZeroDuration());
  const SteadyTime over = Add(later, Misconduct::kTime);
  EXPECT_GT(misconduct.Out("a", Add(over, -absl::Seconds(1))), absl::ZeroDuration());
  EXPECT_EQ(misconduct.Out("a", over), absl::ZeroDuration());
  // From the beginning.
  EXPECT_FALSE(misconduct.Note("a", over));
}

TEST(MisconductTest, Note_NowAndThen_IsForgiven) {
  Misconduct misconduct(10);
  SteadyTime now = kStart;
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(misconduct.Note("a", now));
    now = Add(now, Misconduct::kTime);
  }
}

TEST(MisconductTest, Note_MoreNamesThanMayBe_QuietestIsForgotten) {
  Misconduct misconduct(2);
  misconduct.Note("a", kStart);
  misconduct.Note("a", kStart);
  for (int i = 1; i < 3; ++i) misconduct.Note("b", Add(kStart, absl::Seconds(i)));
  misconduct.Note("c", Add(kStart, absl::Seconds(3)));
  EXPECT_FALSE(misconduct.Note("a", Add(kStart, absl::Seconds(4)))) << "it was not forgotten";
}

}  // namespace
}  // namespace autobatch
