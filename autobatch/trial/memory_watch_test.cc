#include "autobatch/trial/memory_watch.h"

#include <gtest/gtest.h>

namespace autobatch {
namespace {

TEST(MemoryWatchTest, Peak_IsTheGreatestReading) {
  MemoryWatch watch;
  EXPECT_EQ(watch.peak_bytes(), 0);
  watch.Add(absl::Seconds(1), 5);
  watch.Add(absl::Seconds(2), 9);
  watch.Add(absl::Seconds(3), 2);
  EXPECT_EQ(watch.peak_bytes(), 9);
}

TEST(MemoryWatchTest, RunThatLevelsOff_IsSettled) {
  MemoryWatch watch;
  for (int i = 1; i <= 100; ++i) watch.Add(absl::Seconds(i), int64_t{1000} * std::min(i, 80));
  EXPECT_FALSE(watch.StillGrew());
}

// PyTorch as it is seen from outside: its import takes most of a short run, the steps rise to the
// same height within noise, and at the end its destructors touch pages that nothing had touched.
TEST(MemoryWatchTest, FlatStepsBetweenLongStartAndEnd_AreSettled) {
  MemoryWatch watch;
  for (int i = 1; i <= 100; ++i) {
    const int64_t import = int64_t{8} * std::min(i, 80);
    const int64_t step = i > 80 && i <= 96 ? 240 + i % 6 : 0;
    const int64_t end = i > 97 ? 320 : 0;
    watch.Add(absl::Milliseconds(20 * i), (import + step + end) << 20);
  }
  EXPECT_FALSE(watch.StillGrew());
}

TEST(MemoryWatchTest, StepsThatTakeMoreEachTime_AreNotSettled) {
  MemoryWatch watch;
  for (int i = 1; i <= 100; ++i) {
    const int64_t import = int64_t{8} * std::min(i, 60);
    const int64_t step = i > 60 && i <= 96 ? 240 + int64_t{20} * ((i - 60) / 4) : 0;
    const int64_t end = i > 97 ? 320 : 0;
    watch.Add(absl::Milliseconds(20 * i), (import + step + end) << 20);
  }
  EXPECT_TRUE(watch.StillGrew());
}

TEST(MemoryWatchTest, Leak_IsNotSettled) {
  MemoryWatch watch;
  for (int i = 1; i <= 100; ++i) watch.Add(absl::Seconds(i), 1000 + 50 * i);
  EXPECT_TRUE(watch.StillGrew());
}

TEST(MemoryWatchTest, ManySmallRises_AddUp) {
  MemoryWatch watch;
  for (int i = 1; i <= 10000; ++i) watch.Add(absl::Seconds(i), 1'000'000 + 4 * i);
  EXPECT_FALSE(watch.StillGrew()) << "4 % in all, not 1 % in an eighth";
  for (int i = 1; i <= 10000; ++i) watch.Add(absl::Seconds(10000 + i), 1'040'000 + 20 * i);
  EXPECT_TRUE(watch.StillGrew());
}

TEST(MemoryWatchTest, ShortRun_CannotTell) {
  MemoryWatch watch;
  for (int i = 1; i <= 10; ++i) watch.Add(absl::Seconds(i), int64_t{1000} * i);
  EXPECT_FALSE(watch.StillGrew());
}

}  // namespace
}  // namespace autobatch
