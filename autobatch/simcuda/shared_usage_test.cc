#include "autobatch/simcuda/shared_usage.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace autobatch::simcuda {
namespace {

constexpr int kDevice = 3;
constexpr uint64_t kLimit = 1000;

std::string Path() {
  static int number = 0;
  return testing::TempDir() + "/use-" + std::to_string(getpid()) + "-" + std::to_string(++number);
}

// A process that holds `bytes` and waits to be killed.
class Holder {
 public:
  Holder(const std::string& path, uint64_t bytes) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      SharedUsage usage(path);
      const char held = usage.TryAdd(kDevice, bytes, kLimit) ? 'y' : 'n';
      if (write(ready[1], &held, 1) != 1) _exit(1);
      while (true) pause();
    }
    close(ready[1]);
    char held = 'n';
    EXPECT_EQ(read(ready[0], &held, 1), 1);
    EXPECT_EQ(held, 'y');
    close(ready[0]);
  }
  ~Holder() { Kill(/*reap=*/true); }

  void Kill(bool reap) {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | (reap ? 0 : WNOWAIT));
    if (reap) pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

TEST(SharedUsageTest, Alone_WithoutAFile_CountsItself) {
  SharedUsage usage("");
  EXPECT_TRUE(usage.TryAdd(kDevice, 600, kLimit));
  EXPECT_FALSE(usage.TryAdd(kDevice, 401, kLimit));
  EXPECT_TRUE(usage.TryAdd(kDevice + 1, 401, kLimit));
  EXPECT_EQ(usage.Total(kDevice), 600);
  usage.Subtract(kDevice, 600);
  EXPECT_EQ(usage.Total(kDevice), 0);
}

TEST(SharedUsageTest, TwoProcesses_OnOneDevice_ShareItsLimit) {
  const std::string path = Path();
  const Holder other(path, 700);
  SharedUsage usage(path);
  EXPECT_EQ(usage.Total(kDevice), 700);
  EXPECT_EQ(usage.Own(kDevice), 0);
  EXPECT_FALSE(usage.TryAdd(kDevice, 301, kLimit));
  EXPECT_TRUE(usage.TryAdd(kDevice, 300, kLimit));
  const std::vector<ProcessUse> processes = usage.Processes(kDevice);
  ASSERT_EQ(processes.size(), 2);
  EXPECT_EQ(processes[0].pid, other.pid());
  EXPECT_EQ(processes[0].bytes, 700);
  EXPECT_EQ(processes[1].bytes, 300);
}

TEST(SharedUsageTest, KilledProcess_EvenAsAZombie_HoldsNothing) {
  const std::string path = Path();
  Holder other(path, 700);
  SharedUsage usage(path);
  EXPECT_FALSE(usage.TryAdd(kDevice, 1000, kLimit));
  other.Kill(/*reap=*/false);
  EXPECT_TRUE(usage.TryAdd(kDevice, 1000, kLimit));
  EXPECT_EQ(usage.Processes(kDevice).size(), 1);
}

TEST(SharedUsageTest, ForkedChild_OfAProcessThatHoldsMemory_HoldsItsOwn) {
  SharedUsage usage(Path());
  ASSERT_TRUE(usage.TryAdd(kDevice, 300, kLimit));
  const pid_t child = fork();
  if (child == 0) {
    const bool right = usage.Own(kDevice) == 0 && usage.TryAdd(kDevice, 700, kLimit) &&
                       !usage.TryAdd(kDevice, 1, kLimit) && usage.Own(kDevice) == 700;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(usage.Total(kDevice), 300);
}

}  // namespace
}  // namespace autobatch::simcuda
