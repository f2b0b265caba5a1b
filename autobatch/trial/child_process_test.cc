#include "autobatch/trial/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/trial/test_support.h"

namespace autobatch {
namespace {

using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr SteadyTime kNever = SteadyTime::max();

class ChildProcessTest : public NothingLeftTest {
 protected:
  static ChildOptions Shell(const std::string& script) {
    ChildOptions options;
    options.guard = kGuardPath;
    options.command = {"sh", "-c", script};
    options.grace = absl::Milliseconds(50);
    return options;
  }
  static ChildOptions TestChild(const std::string& mode) {
    ChildOptions options = Shell("");
    options.command = {kTestChildPath};
    options.environment = {{"TEST_CHILD", mode}};
    return options;
  }
  static std::unique_ptr<ChildProcess> Start(const ChildOptions& options) {
    auto child = ChildProcess::Start(options);
    EXPECT_TRUE(child.ok()) << child.status();
    return *std::move(child);
  }
  // Everything it says, to its end.
  static std::string RunToEnd(ChildProcess& child) {
    const CancelSignal never;
    std::string output;
    while (child.Wait(kNever, never, output) != ChildEvent::kExited) {
    }
    return output;
  }
};

TEST_F(ChildProcessTest, ExitCode_IsReportedWithUsageAndLastLines) {
  auto child = Start(Shell("echo out; echo err >&2; exit 3"));
  RunToEnd(*child);
  ASSERT_TRUE(child->report().has_value());
  EXPECT_EQ(WEXITSTATUS(child->report()->wait_status), 3);
  EXPECT_FALSE(child->report()->ended);
  EXPECT_GT(child->report()->max_rss_bytes, 100'000);
  EXPECT_EQ(child->StdoutTail(), "out");
  EXPECT_EQ(child->StderrTail(), "err");
}

TEST_F(ChildProcessTest, MissingCommand_ReportsWhy) {
  ChildOptions options = Shell("");
  options.command = {"/nonexistent/worker"};
  auto child = Start(options);
  RunToEnd(*child);
  ASSERT_TRUE(child->report().has_value());
  EXPECT_EQ(child->report()->start_errno, ENOENT);
}

TEST_F(ChildProcessTest, MissingGuard_IsNotFound) {
  ChildOptions options = Shell("");
  options.guard = "/nonexistent/guard";
  const auto child = ChildProcess::Start(options);
  EXPECT_EQ(child.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(child.status().message()), HasSubstr("/nonexistent/guard"));
}

TEST_F(ChildProcessTest, NoDescriptorsLeft_IsResourceExhausted) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 22;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto child = ChildProcess::Start(Shell("true"));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(child.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(ChildProcessTest, Child_InheritsOnlyTheProtocolAndCleanSignals) {
  // Not close-on-exec, as libraries do it, and above the numbers that are placed anew.
  const int low = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int leak = fcntl(low, F_DUPFD, 40);
  close(low);
  signal(SIGPIPE, SIG_IGN);
  sigset_t block;
  sigset_t before;
  sigemptyset(&block);
  sigaddset(&block, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &block, &before);
  ChildOptions options = Shell(
      "ls -x /proc/$$/fd; readlink /proc/$$/fd/0;"
      "grep -E 'SigBlk|SigIgn' /proc/self/status; echo $AUTOBATCH_REQUEST_FD $AUTOBATCH_REPORT_FD; "
      "pwd;"
      "cut -d' ' -f 1,5,6 /proc/$$/stat; cat /proc/$$/oom_score_adj");
  options.protocol = true;
  options.working_directory = "/";
  auto child = Start(options);
  RunToEnd(*child);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  signal(SIGPIPE, SIG_DFL);
  close(leak);
  const std::string out = child->StdoutTail();
  EXPECT_THAT(out, StartsWith("0  1  2  5  6\n/dev/null\n"));
  // 32 and 33 belong to the C library, which lets nobody change them.
  EXPECT_THAT(out, ContainsRegex("SigBlk:\t0000000000000000\nSigIgn:\t0000000[01][08]0000000\n"));
  EXPECT_THAT(out, HasSubstr("\n5 6\n/\n"));
  int pid = 0;
  int group = 0;
  int session = 0;
  const size_t stat = out.find("\n/\n") + 3;
  ASSERT_EQ(sscanf(out.c_str() + stat, "%d %d %d", &pid, &group, &session), 3) << out;
  EXPECT_EQ(group, pid);
  EXPECT_EQ(session, pid);
  EXPECT_THAT(out, EndsWith("\n900"));
}

TEST_F(ChildProcessTest, Gigabytes_AreReadAndThrownAway) {
  auto child = Start(TestChild("flood_only"));
  RunToEnd(*child);
  EXPECT_EQ(child->report()->wait_status, 0);
  EXPECT_LE(child->StderrTail().size(), size_t{8} << 10);
  EXPECT_THAT(child->StderrTail(), EndsWith("the last line"));
}

TEST_F(ChildProcessTest, Protocol_CarriesMoreThanAPipeBothWays) {
  ChildOptions options = Shell("cat <&5 >&6");
  options.protocol = true;
  auto child = Start(options);
  const std::string sent(3'000'000, 'a');
  child->Send(sent);
  child->CloseRequests();
  EXPECT_EQ(RunToEnd(*child), sent);
}

TEST_F(ChildProcessTest, ReaderGone_IsNoSignalToUs) {
  ChildOptions options = Shell(absl::StrCat("exec 5<&-; echo >&6; exec ", kTestChildPath));
  options.environment = {{"TEST_CHILD", "hang_start"}};
  options.protocol = true;
  auto child = Start(options);
  const CancelSignal never;
  std::string output;
  ASSERT_EQ(child->Wait(kNever, never, output), ChildEvent::kOutput);
  // More than the pipe holds, should the guard not have closed its copy yet.
  child->Send(std::string(3'000'000, 'a'));
  EXPECT_EQ(child->Wait(Add(Clock::Real().Now(), absl::Milliseconds(50)), never, output),
            ChildEvent::kDeadline);
}

TEST_F(ChildProcessTest, ClosedProtocol_IsToldOnceAndThenTheExit) {
  ChildOptions options = Shell("exec 6>&-; read line <&5");
  options.protocol = true;
  auto child = Start(options);
  const CancelSignal never;
  std::string output;
  EXPECT_EQ(child->Wait(kNever, never, output), ChildEvent::kClosed);
  child->CloseRequests();
  EXPECT_EQ(child->Wait(kNever, never, output), ChildEvent::kExited);
}

TEST_F(ChildProcessTest, Deadline_ReturnsAndTheChildLivesUntilEnded) {
  auto child = Start(TestChild("hang_start"));
  const CancelSignal never;
  std::string output;
  EXPECT_EQ(child->Wait(Add(Clock::Real().Now(), absl::Milliseconds(1)), never, output),
            ChildEvent::kDeadline);
  EXPECT_TRUE(child->EndAndWait(output));
  EXPECT_EQ(WTERMSIG(child->report()->wait_status), SIGTERM);
  EXPECT_TRUE(child->report()->ended);
}

TEST_F(ChildProcessTest, DeafChild_IsKilledAfterTheGrace) {
  Fifo fifo;
  ChildOptions options = TestChild("hang_deaf");
  options.environment.emplace_back("TEST_FIFO", fifo.path());
  options.command = {"sh", "-c", absl::StrCat("trap '' TERM; ", kTestChildPath)};
  auto child = Start(options);
  fifo.ReadPids(1);
  std::string output;
  EXPECT_TRUE(child->EndAndWait(output));
  EXPECT_EQ(WTERMSIG(child->report()->wait_status), SIGKILL);
  fifo.WaitUntilReleased();
}

TEST_F(ChildProcessTest, CancelFromAnotherThread_EndsTheWait) {
  auto child = Start(TestChild("hang_start"));
  CancelSignal cancel;
  std::thread other([&] { cancel.Set(); });
  std::string output;
  EXPECT_EQ(child->Wait(kNever, cancel, output), ChildEvent::kCancelled);
  EXPECT_EQ(child->Wait(kNever, cancel, output), ChildEvent::kCancelled);
  other.join();
}

TEST_F(ChildProcessTest, Daemons_AreGoneWithTheChild) {
  Fifo fifo;
  ChildOptions options = TestChild("daemon_leaves");
  options.environment.emplace_back("TEST_FIFO", fifo.path());
  auto child = Start(options);
  RunToEnd(*child);
  // Also a daemon that never came to write.
  fifo.WaitUntilReleased();
}

TEST_F(ChildProcessTest, DaemonsOfALivingChild_AreGoneAfterTheEnd) {
  Fifo fifo;
  ChildOptions options = TestChild("daemon");
  options.environment.emplace_back("TEST_FIFO", fifo.path());
  auto child = Start(options);
  EXPECT_EQ(fifo.ReadPids(2).size(), 2u);
  std::string output;
  EXPECT_TRUE(child->EndAndWait(output));
  fifo.WaitUntilReleased();
}

// Starts test_parent, whose child has a daemon; both hold the FIFO when this returns.
pid_t StartParent(Fifo& fifo) {
  std::string mode = "TEST_CHILD=daemon";
  std::string hold = "TEST_FIFO=" + fifo.path();
  std::string parent = kTestParentPath;
  std::string guard = kGuardPath;
  std::string child = kTestChildPath;
  char* const arguments[] = {parent.data(), guard.data(), child.data(), nullptr};
  char* const environment[] = {mode.data(), hold.data(), nullptr};
  pid_t pid = 0;
  EXPECT_EQ(posix_spawn(&pid, kTestParentPath, nullptr, nullptr, arguments, environment), 0);
  EXPECT_EQ(fifo.ReadPids(2).size(), 2u);
  return pid;
}

// What lost its parent came to us; returns when all of it is gone.
void ReapAll() {
  while (waitpid(-1, nullptr, 0) > 0) {
  }
}

TEST_F(ChildProcessTest, ParentKilled_NothingIsLeft) {
  Fifo fifo;
  kill(StartParent(fifo), SIGKILL);
  fifo.WaitUntilReleased();
  ReapAll();
}

TEST_F(ChildProcessTest, GuardKilled_TheChildIsGoneAndTheParentIsTold) {
  Fifo fifo;
  ChildOptions options = TestChild("hang_deaf");
  options.environment.emplace_back("TEST_FIFO", fifo.path());
  auto child = Start(options);
  const int pid = fifo.ReadPids(1)[0];
  // The guard is the parent of the command.
  FILE* status = fopen(absl::StrCat("/proc/", pid, "/stat").c_str(), "r");
  ASSERT_NE(status, nullptr);
  int guard = 0;
  ASSERT_EQ(fscanf(status, "%*d (%*[^)]) %*c %d", &guard), 1);
  fclose(status);
  kill(guard, SIGKILL);
  RunToEnd(*child);
  EXPECT_FALSE(child->report().has_value());
  fifo.WaitUntilReleased();
  ReapAll();
}

TEST_F(ChildProcessTest, GuardTerminated_EndsTheChild) {
  auto child = Start(Shell("kill -TERM $PPID; while :; do read forever <&1; done"));
  RunToEnd(*child);
  ASSERT_TRUE(child->report().has_value());
  EXPECT_TRUE(child->report()->ended);
}

}  // namespace
}  // namespace autobatch
