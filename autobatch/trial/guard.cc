// Stands between the parent and a command: ends the command with all its descendants when told to
// or when the parent is gone, and reports how it ended. guard_report.h says how to start it.
//
// A process of its own because only that survives the parent's SIGKILL, can adopt daemonised
// descendants without adopting other children of the parent, and gets their resource usage.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "autobatch/trial/guard_report.h"

namespace autobatch {
namespace {

// Helpers of an interpreter (resource trackers) end just after it: those are not left behind.
constexpr int64_t kStragglerMs = 500;
constexpr size_t kMostNames = 8;

// Where the guard keeps its signalfd; the command's own copies of these numbers are closed by then.
constexpr int kSignalFd = 5;

int64_t NowMs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

double Ms(const timeval& time) { return time.tv_sec * 1e3 + time.tv_usec / 1e3; }

// Adds what an ended process has used.
void Account(const rusage& usage, GuardReport& report) {
  report.max_rss_bytes = std::max(report.max_rss_bytes, int64_t{usage.ru_maxrss} * 1024);
  report.user_ms += Ms(usage.ru_utime);
  report.system_ms += Ms(usage.ru_stime);
}

// In the new process. Returns only by exec; otherwise tells errno through `failed`.
[[noreturn]] void Execute(char** command, pid_t guard, int failed) {
  // The kernel ends the command should the guard itself be killed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guard) _exit(127);
  setsid();
  // When the host runs out of memory, a trial is what can be spared.
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0) {
    if (write(score, "900", 3) < 0) {
      // Only a preference: the trial runs without.
    }
    close(score);
  }
  for (int signal_number = 1; signal_number < NSIG; ++signal_number) {
    signal(signal_number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp(command[0], command);
  const int error = errno;
  if (write(failed, &error, sizeof(error)) < 0) _exit(126);
  _exit(127);
}

// Starts the command and returns its pid once it executes; 0 and start_errno when it does not.
pid_t Start(char** command, GuardReport& report) {
  int failed[2];
  if (pipe2(failed, O_CLOEXEC) != 0) {
    report.start_errno = errno;
    return 0;
  }
  const pid_t guard = getpid();
  const pid_t child = fork();
  if (child == 0) Execute(command, guard, failed[1]);
  if (child < 0) report.start_errno = errno;
  close(failed[1]);
  int error = 0;
  ssize_t got;
  do {
    got = read(failed[0], &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  close(failed[0]);
  if (child < 0) return 0;
  if (got == sizeof(error)) {
    report.start_errno = error;
    waitpid(child, nullptr, 0);
    return 0;
  }
  return child;
}

// Leaves open only the guard's own descriptors, so that the command's ends of its pipes close with
// it.
void CloseCommandFds(int signal_fd) {
  dup3(signal_fd, kSignalFd, O_CLOEXEC);
  close_range(kSignalFd + 1, ~0u, 0);
  dup2(0, 1);
  dup2(0, 2);
}

// Reaps adopted descendants that have ended. True once the command itself has; it stays a zombie,
// so that its number still names its process group.
bool CommandEnded(pid_t command, GuardReport& report) {
  while (true) {
    siginfo_t ended = {};
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) {
      return false;
    }
    if (ended.si_pid == command) return true;
    rusage usage;
    if (wait4(ended.si_pid, nullptr, 0, &usage) > 0) Account(usage, report);
  }
}

// Calls visit(pid, name, length of name) for every living process whose parent is this one.
template <typename Visit>
void ForEachChild(Visit visit) {
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return;
  while (const dirent* entry = readdir(proc)) {
    const int pid = atoi(entry->d_name);
    if (pid <= 0) continue;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    char text[512];
    const ssize_t size = read(file, text, sizeof(text) - 1);
    close(file);
    if (size <= 0) continue;
    text[size] = '\0';
    // "pid (name) state parent ..."; the name may hold spaces and parentheses.
    const char* name = strchr(text, '(');
    const char* after_name = strrchr(text, ')');
    char state = 'Z';
    int parent = 0;
    if (name != nullptr && after_name != nullptr &&
        sscanf(after_name + 1, " %c %d", &state, &parent) == 2 && parent == getpid() &&
        state != 'Z') {
      visit(pid, name + 1, static_cast<size_t>(after_name - name - 1));
    }
  }
  closedir(proc);
}

size_t LivingChildren() {
  size_t count = 0;
  ForEachChild([&](pid_t, const char*, size_t) { ++count; });
  return count;
}

// Of a command that ended by itself: what it left running, which comes to this process.
void NoteLeft(GuardReport& report) {
  pollfd fds[] = {{kGuardControlFd, POLLIN, 0}, {kSignalFd, POLLIN, 0}};
  const int64_t until = NowMs() + kStragglerMs;
  while (LivingChildren() > 0) {
    const int64_t left = until - NowMs();
    if (left <= 0 || fds[0].revents != 0) break;
    poll(fds, 2, static_cast<int>(left));
    signalfd_siginfo ignored;
    while (read(kSignalFd, &ignored, sizeof(ignored)) == sizeof(ignored)) {
    }
  }
  ForEachChild([&](pid_t child, const char* name, size_t length) {
    if (report.left.size() == kMostNames) return;
    std::string text;
    for (size_t i = 0; i < length; ++i) {
      // What JSON would need escaped, and what is no text.
      const bool plain = name[i] >= ' ' && name[i] < 0x7f && name[i] != '"' && name[i] != '\\';
      text += plain ? name[i] : '?';
    }
    report.left.push_back(text + " (pid " + std::to_string(child) + ")");
  });
}

void WaitForCommand(pid_t command, int64_t grace_ms, GuardReport& report) {
  pollfd fds[] = {{kGuardControlFd, POLLIN, 0}, {kSignalFd, POLLIN, 0}};
  int64_t kill_at = 0;
  while (!CommandEnded(command, report)) {
    const int timeout =
        kill_at == 0 ? -1 : static_cast<int>(std::max<int64_t>(0, kill_at - NowMs()));
    poll(fds, 2, timeout);
    bool told = fds[0].revents != 0;
    signalfd_siginfo signal_info;
    while (read(kSignalFd, &signal_info, sizeof(signal_info)) == sizeof(signal_info)) {
      if (signal_info.ssi_signo != SIGCHLD) told = true;
    }
    if (told && !report.ended) {
      report.ended = true;
      fds[0].fd = -1;  // At end of file from now on.
      kill_at = NowMs() + grace_ms;
      kill(-command, SIGTERM);
      kill(-command, SIGCONT);  // A stopped process takes its SIGTERM only then.
    }
    if (kill_at != 0 && NowMs() >= kill_at) {
      kill(-command, SIGKILL);
      kill_at = 0;
    }
  }
  if (!report.ended) NoteLeft(report);
  kill(-command, SIGKILL);
  int status = 0;
  rusage usage;
  if (wait4(command, &status, 0, &usage) == command) Account(usage, report);
  report.wait_status = status;
}

// SIGKILL to every process whose parent is this one.
void KillChildren() {
  ForEachChild([](pid_t child, const char*, size_t) { kill(child, SIGKILL); });
}

// A killed process leaves its children to us: round by round the whole tree comes.
void EndDescendants(GuardReport& report) {
  while (true) {
    rusage usage;
    const pid_t ended = wait4(-1, nullptr, WNOHANG, &usage);
    if (ended > 0) {
      Account(usage, report);
      continue;
    }
    if (ended < 0) return;
    KillChildren();
    siginfo_t info;
    waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
  }
}

void Send(const GuardReport& report) {
  std::string left;
  for (const std::string& process : report.left) {
    left += (left.empty() ? "\"" : ",\"") + process + "\"";
  }
  dprintf(kGuardReportFd,
          "{\"start_errno\":%lld,\"wait_status\":%lld,\"ended\":%s,\"max_rss_bytes\":%lld,"
          "\"user_ms\":%.3f,\"system_ms\":%.3f,\"left\":[%s]}\n",
          static_cast<long long>(report.start_errno), static_cast<long long>(report.wait_status),
          report.ended ? "true" : "false", static_cast<long long>(report.max_rss_bytes),
          report.user_ms, report.system_ms, left.c_str());
}

int Main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: guard GRACE_MS COMMAND [ARGUMENT...]; started by autobatch only\n");
    return 2;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  fcntl(kGuardControlFd, F_SETFD, FD_CLOEXEC);
  fcntl(kGuardReportFd, F_SETFD, FD_CLOEXEC);
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal_number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    sigaddset(&signals, signal_number);
  }
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  const int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);

  GuardReport report;
  const pid_t command = Start(argv + 2, report);
  if (command > 0) {
    CloseCommandFds(signal_fd);
    WaitForCommand(command, atoll(argv[1]), report);
    EndDescendants(report);
  }
  Send(report);
  return 0;
}

}  // namespace
}  // namespace autobatch

int main(int argc, char** argv) { return autobatch::Main(argc, argv); }
