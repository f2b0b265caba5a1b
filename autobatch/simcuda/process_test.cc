#include "autobatch/simcuda/process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace autobatch::simcuda {
namespace {

TEST(StartTime, OfThisProcess_IsTheSameEachTime) {
  EXPECT_GT(StartTime(getpid()), 0u);
  EXPECT_EQ(StartTime(getpid()), StartTime(getpid()));
}

TEST(StartTime, OfADeadChild_IsNone) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  EXPECT_GT(StartTime(child), 0u);
  kill(child, SIGKILL);
  siginfo_t info;
  // Dead, and not waited for.
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(StartTime(child), 0u);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(StartTime(child), 0u);
}

}  // namespace
}  // namespace autobatch::simcuda
