#include "autobatch/base/clock.h"

#include <gtest/gtest.h>

#include "autobatch/base/simulated_clock.h"

namespace autobatch {
namespace {

TEST(ClockTest, InfiniteDuration_GivesTheLastPoint) {
  EXPECT_EQ(Add(SteadyTime(), absl::InfiniteDuration()), SteadyTime::max());
  EXPECT_EQ(Add(Clock::Real().Now(), absl::Hours(24 * 365 * 1000)), SteadyTime::max());
}

TEST(ClockTest, Between_IsTheInverseOfAdd) {
  const SteadyTime now = Clock::Real().Now();
  EXPECT_EQ(Between(now, Add(now, absl::Milliseconds(1500))), absl::Milliseconds(1500));
}

TEST(SimulatedClockTest, WallJump_LeavesSteadyTimeAlone) {
  SimulatedClock clock;
  const SteadyTime before = clock.Now();
  const absl::Time wall = clock.WallNow();
  clock.JumpWall(absl::Hours(-1));
  EXPECT_EQ(clock.Now(), before);
  EXPECT_EQ(clock.WallNow(), wall - absl::Hours(1));
  clock.Advance(absl::Seconds(7));
  EXPECT_EQ(Between(before, clock.Now()), absl::Seconds(7));
}

}  // namespace
}  // namespace autobatch
