#include "orchestrator/service/line_limiter.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SteadyTime At(int64_t milliseconds) {
  return SteadyTime(std::chrono::hours(1) + std::chrono::milliseconds(milliseconds));
}

TEST(LineLimiterTest, FewLines_AreAllThere) {
  LineLimiter limiter;
  EXPECT_THAT(limiter.Take("a", At(0)), ElementsAre("a"));
  EXPECT_THAT(limiter.Take("b", At(0)), ElementsAre("b"));
  EXPECT_THAT(limiter.Finish(), IsEmpty());
}

TEST(LineLimiterTest, SameLine_IsSaidAgainAfterAWhile) {
  LineLimiter limiter;
  EXPECT_THAT(limiter.Take("a", At(0)), ElementsAre("a"));
  EXPECT_THAT(limiter.Take("a", At(9999)), IsEmpty());
  EXPECT_THAT(limiter.Take("a", At(10000)), ElementsAre("a"));
}

TEST(LineLimiterTest, Flood_IsCounted) {
  LineLimiter limiter({.burst = 2, .interval = absl::Milliseconds(100)});
  size_t printed = 0;
  for (int i = 0; i < 1000; ++i) printed += limiter.Take(absl::StrCat(i), At(0)).size();
  EXPECT_EQ(printed, 2u);
  EXPECT_THAT(limiter.Take("later", At(100)), ElementsAre("(998 more lines)", "later"));
  EXPECT_THAT(limiter.Take("too many", At(100)), IsEmpty());
  EXPECT_THAT(limiter.Finish(), ElementsAre("(1 more lines)"));
}

TEST(LineLimiterTest, LongSilence_AllowsABurstAndNoMore) {
  LineLimiter limiter({.burst = 2, .interval = absl::Milliseconds(100)});
  limiter.Take("first", At(0));
  size_t printed = 0;
  for (int i = 0; i < 10; ++i) printed += limiter.Take(absl::StrCat(i), At(60'000)).size();
  EXPECT_EQ(printed, 2u);
}

}  // namespace
}  // namespace autobatch
