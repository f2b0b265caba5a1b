#include "autobatch/trial/host_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace autobatch {
namespace {

TEST(HostMemoryTest, ProcFiles_AreRead) {
  const std::string proc = ::testing::TempDir() + "/proc";
  std::filesystem::create_directories(proc + "/17");
  std::ofstream(proc + "/meminfo") << "MemTotal: 100 kB\nMemAvailable:      42 kB\n";
  std::ofstream(proc + "/vmstat") << "oom_killer 9\noom_kill 3\n";
  std::ofstream(proc + "/17/status") << "Name:\tworker\nVmHWM:\t    7 kB\n";
  EXPECT_EQ(ReadHostMemory(proc).available_bytes, 42 * 1024);
  EXPECT_EQ(ReadHostMemory(proc).oom_kills, 3);
  EXPECT_EQ(PeakResidentBytes(17, proc), 7 * 1024);
  EXPECT_EQ(PeakResidentBytes(18, proc), std::nullopt);
}

TEST(HostMemoryTest, NoProc_IsAbsentAndNotZero) {
  EXPECT_EQ(ReadHostMemory("/nonexistent").available_bytes, std::nullopt);
  EXPECT_EQ(ReadHostMemory("/nonexistent").oom_kills, std::nullopt);
}

TEST(HostMemoryTest, ThisHost_HasSome) {
  EXPECT_GT(ReadHostMemory().available_bytes.value_or(0), 1 << 20);
  EXPECT_GT(PeakResidentBytes(getpid()).value_or(0), 100'000);
}

}  // namespace
}  // namespace autobatch
