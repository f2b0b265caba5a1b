#include "autobatch/trial/seen_framework.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"

namespace autobatch {
namespace {

// A procfs with the processes that a test puts there.
class SeenFrameworkTest : public ::testing::Test {
 protected:
  SeenFrameworkTest() { EXPECT_NE(mkdtemp(proc_.data()), nullptr); }

  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(absl::StrCat(proc_, "/", path), text).ok());
  }
  void Maps(int64_t pid, const std::string& library) {
    Write(absl::StrCat(pid, "/maps"),
          absl::StrCat("55d0c8a00000-55d0c8a01000 r--p 00000000 08:01 131 /usr/bin/python3.11\n"
                       "7f0000000000-7f0000001000 r-xp 00000000 08:01 131 ",
                       library, "\n7ffd1f5e0000-7ffd1f601000 rw-p 00000000 00:00 0 [stack]\n"));
  }
  std::string Seen() const { return SeenFramework(std::vector<int64_t>{7, 8}, proc_); }

  std::string proc_ = ::testing::TempDir() + "/proc-XXXXXX";
};

TEST_F(SeenFrameworkTest, ProcessesWithoutOne_ShowNothing) {
  EXPECT_EQ(Seen(), "");
  Maps(7, "/usr/lib/libc.so.6");
  Maps(8, "/usr/lib/my-libtorch_cpu.so.txt");
  EXPECT_EQ(Seen(), "");
}

TEST_F(SeenFrameworkTest, Wheel_IsNamedByItsVersionAndFolder) {
  Maps(7, "/usr/bin/torchrun");
  Maps(8, "/a user's/site-packages/torch/lib/libtorch_cpu.so");
  EXPECT_EQ(Seen(), "PyTorch of unknown version in /a user's/site-packages/torch");
  Write("8/root/a user's/site-packages/torch/version.py",
        "from typing import Optional\n\n__version__ = '2.13.0+cu130'\ndebug = False\n");
  EXPECT_EQ(Seen(), "PyTorch 2.13.0+cu130 in /a user's/site-packages/torch");
}

TEST_F(SeenFrameworkTest, ZipWithoutPython_IsNamedByItsVersion) {
  Maps(7, "/opt/libtorch/lib/libtorch_cpu.so");
  Write("7/root/opt/libtorch/build-version", "2.11.0+cu130\n");
  EXPECT_EQ(Seen(), "PyTorch 2.11.0+cu130 in /opt/libtorch");
}

TEST_F(SeenFrameworkTest, Watch_TellsOnceHoweverLateItIsLoaded) {
  std::vector<std::string> told;
  FrameworkWatch watch([&](const std::string& framework) { told.push_back(framework); });
  const std::vector<int64_t> pids = {7};
  for (int i = 0; i < 1000; ++i) watch.Look(pids, proc_);
  EXPECT_TRUE(told.empty());
  Maps(7, "/opt/torch/lib/libtorch_cpu.so");
  for (int i = 0; i < 100; ++i) watch.Look(pids, proc_);
  EXPECT_EQ(told, std::vector<std::string>{"PyTorch of unknown version in /opt/torch"});
}

}  // namespace
}  // namespace autobatch
