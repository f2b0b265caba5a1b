#include "autobatch/trial/host_state.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace autobatch {
namespace {

TEST(HostStateTest, ProcFiles_AreRead) {
  const std::string proc = ::testing::TempDir() + "/proc";
  std::filesystem::create_directories(proc + "/17");
  std::ofstream(proc + "/meminfo") << "MemTotal: 100 kB\nMemAvailable:      42 kB\n";
  std::ofstream(proc + "/vmstat") << "oom_killer 9\noom_kill 3\n";
  std::ofstream(proc + "/17/status") << "Name:\tworker\nVmHWM:\t    7 kB\n";
  EXPECT_EQ(ReadHostState(proc).available_bytes, 42 * 1024);
  EXPECT_EQ(ReadHostState(proc).oom_kills, 3);
  EXPECT_EQ(PeakResidentBytes(17, proc), 7 * 1024);
  EXPECT_EQ(PeakResidentBytes(18, proc), std::nullopt);
}

TEST(HostStateTest, NoProc_IsAbsentAndNotZero) {
  EXPECT_EQ(ReadHostState("/nonexistent").available_bytes, std::nullopt);
  EXPECT_EQ(ReadHostState("/nonexistent").oom_kills, std::nullopt);
}

TEST(HostStateTest, ThisHost_HasSome) {
  EXPECT_GT(ReadHostState().available_bytes.value_or(0), 1 << 20);
  EXPECT_GT(PeakResidentBytes(getpid()).value_or(0), 100'000);
}

}  // namespace
}  // namespace autobatch
