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
