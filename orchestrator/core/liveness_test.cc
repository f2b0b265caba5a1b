#include "orchestrator/core/liveness.h"

#include <gtest/gtest.h>

namespace autobatch {
namespace {

SteadyTime At(double seconds) { return Add(SteadyTime(), absl::Seconds(seconds)); }

TEST(MetronomeTest, Beat_ComesOnceAnInterval) {
  Metronome metronome(absl::Seconds(1), At(0));
  EXPECT_FALSE(metronome.Beat(At(0.9)));
  EXPECT_TRUE(metronome.Beat(At(1)));
  EXPECT_FALSE(metronome.Beat(At(1.5)));
  EXPECT_TRUE(metronome.Beat(At(2)));
}

TEST(MetronomeTest, LongPause_IsOneBeat) {
  Metronome metronome(absl::Seconds(1), At(0));
  EXPECT_TRUE(metronome.Beat(At(60)));
  EXPECT_FALSE(metronome.Beat(At(60.5)));
  EXPECT_EQ(metronome.next(), At(61));
}

TEST(LivenessTest, OnlyAHigherNumber_IsProgress) {
  Liveness liveness;
  liveness.Heard(1);
  EXPECT_EQ(liveness.Beat(), 1);
  liveness.Heard(1);
  EXPECT_EQ(liveness.Beat(), 2);
  liveness.Heard(0);
  EXPECT_EQ(liveness.Beat(), 3);
  liveness.Heard(9);
  EXPECT_EQ(liveness.silent(), 0);
  EXPECT_EQ(liveness.Beat(), 1);
}

TEST(LivenessTest, Restart_CountsAnew) {
  Liveness liveness;
  liveness.Heard(9);
  liveness.Restart();
  liveness.Beat();
  liveness.Heard(1);
  EXPECT_EQ(liveness.silent(), 0);
}

}  // namespace
}  // namespace autobatch
