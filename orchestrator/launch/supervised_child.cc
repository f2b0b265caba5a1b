#include "orchestrator/launch/supervised_child.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "orchestrator/dialect/environment.h"
#include "orchestrator/launch/left_processes.h"

extern "C" char** environ;

namespace autobatch {
namespace {

constexpr char kMark[] = "AUTOBATCH_SUPERVISOR";
// How soon a request to end the command is seen by the thread that waits for it.
constexpr int kLookAgainMs = 100;

// The strings that execve() takes, made before the fork: after it, in a process that has threads,
// only what is safe in a signal handler may run.
struct Prepared {
  std::vector<std::string> variables;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::string directory;
  sigset_t no_signals;
  std::optional<std::vector<int>> descriptors;
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Prepared Prepare(const ChildCommand& command) {
  Environment environment = command.base.has_value() ? *command.base : EnvironmentFrom(environ);
  for (const auto& [name, value] : command.environment) environment[name] = value;
  Prepared prepared;
  for (const auto& [name, value] : environment) {
    prepared.variables.push_back(absl::StrCat(name, "=", value));
  }
  prepared.arguments = Pointers(command.command);
  prepared.environment = Pointers(prepared.variables);
  prepared.directory = command.working_directory;
  sigemptyset(&prepared.no_signals);
  prepared.descriptors = command.descriptors;
  return prepared;
}

// Signals as a shell would start a program with them.
void ResetSignals(const Prepared& prepared) {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigprocmask(SIG_SETMASK, &prepared.no_signals, nullptr);
}

// Sockets of libraries are not closed on exec by themselves: a command that held our listening ones
// would keep their ports and paths taken after our end. An older kernel leaves them open.
void KeepOnly(const std::vector<int>& descriptors) {
  unsigned next = STDERR_FILENO + 1;
  for (const int kept : descriptors) {
    const auto number = static_cast<unsigned>(kept);
    if (number < next) continue;
    if (number > next) close_range(next, number - 1, CLOSE_RANGE_CLOEXEC);
    next = number + 1;
  }
  close_range(next, ~0U, CLOSE_RANGE_CLOEXEC);
}

// Returns only where the command cannot be executed.
void Execute(const Prepared& prepared) {
  if (!prepared.directory.empty() && chdir(prepared.directory.c_str()) != 0) return;
  execvpe(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
}

absl::Status CannotStart(const ChildCommand& command, int error) {
  return absl::ErrnoToStatus(
      error,
      absl::StrCat("cannot start '", command.command.empty() ? "" : command.command[0], "'"));
}

// Whether this process group is the one that the terminal of stdin listens to.
bool HasTerminal() { return isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == getpgrp(); }

// Gives the terminal to a process group. The one that asks may be in the background by then, which
// is stopped by SIGTTOU unless it ignores it.
void GiveTerminal(pid_t group) {
  const auto before = signal(SIGTTOU, SIG_IGN);
  tcsetpgrp(STDIN_FILENO, group);
  signal(SIGTTOU, before);
}

[[noreturn]] void RunChild(const Prepared& prepared, pid_t parent, bool terminal, int failed) {
  setpgid(0, 0);
  if (terminal) GiveTerminal(getpid());
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  ResetSignals(prepared);
  if (prepared.descriptors.has_value()) KeepOnly(*prepared.descriptors);
  if (getppid() == parent) Execute(prepared);
  const int error = errno;
  if (write(failed, &error, sizeof(error)) < 0) _exit(126);
  _exit(127);
}

// The child's errno, or 0 once it executes the command.
int ReadFailure(int descriptor) {
  int error = 0;
  ssize_t size;
  do {
    size = read(descriptor, &error, sizeof(error));
  } while (size < 0 && errno == EINTR);
  return size == sizeof(error) ? error : 0;
}

void WaitFor(pid_t pid, int options, siginfo_t& info) {
  info = {};
  while (waitid(P_PID, static_cast<id_t>(pid), &info, options) != 0 && errno == EINTR) {
  }
}

}  // namespace

std::vector<int> OpenDescriptors() {
  std::vector<int> open;
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return open;
  while (const dirent* const entry = readdir(folder)) {
    int number = 0;
    if (absl::SimpleAtoi(entry->d_name, &number) && number != dirfd(folder)) open.push_back(number);
  }
  closedir(folder);
  std::sort(open.begin(), open.end());
  return open;
}

absl::StatusOr<std::unique_ptr<SupervisedChild>> SupervisedChild::Start(
    const ChildCommand& command) {
  if (command.command.empty()) return absl::InvalidArgumentError("there is no command to start");
  static std::atomic<int> started = 0;
  const std::string mark = absl::StrCat(getpid(), "-", ++started);
  ChildCommand marked = command;
  marked.environment.emplace_back(kMark, mark);
  const Prepared prepared = Prepare(marked);
  std::array<int, 2> failed;
  if (pipe2(failed.data(), O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  // What outlives its parent comes to us, and not to a init that waits for nobody.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const bool terminal = HasTerminal();
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) RunChild(prepared, parent, terminal, failed[1]);
  const int fork_error = errno;
  close(failed[1]);
  if (pid < 0) {
    close(failed[0]);
    return absl::ErrnoToStatus(fork_error, "fork");
  }
  // Both do it, since either may be the first to need it.
  setpgid(pid, pid);
  const int error = ReadFailure(failed[0]);
  close(failed[0]);
  if (error == 0)
    return std::unique_ptr<SupervisedChild>(
        new SupervisedChild(pid, terminal, absl::StrCat(kMark, "=", mark)));
  siginfo_t info;
  WaitFor(pid, WEXITED, info);
  if (terminal) GiveTerminal(getpgrp());
  return CannotStart(command, error);
}

void SupervisedChild::Forward(int signal) {
  MutexLock lock(mutex_);
  if (!reaped_) kill(-pid_, signal);
}

void SupervisedChild::End(absl::Duration grace) {
  MutexLock lock(mutex_);
  if (reaped_) return;
  kill(-pid_, SIGTERM);
  kill(-pid_, SIGCONT);  // A stopped process takes its SIGTERM only then.
  kill_at_ = Add(Clock::Real().Now(), grace);
}

std::optional<SteadyTime> SupervisedChild::KillTime() {
  MutexLock lock(mutex_);
  return kill_at_;
}

void SupervisedChild::AwaitEnd() {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  pollfd ended{descriptor, POLLIN, 0};
  siginfo_t info = {};
  // Without reaping: until the lock is held, its number has to stay its own.
  while (info.si_pid == 0) {
    // Where there are no such descriptors this is a plain pause.
    poll(&ended, 1, kLookAgainMs);
    WaitFor(pid_, WEXITED | WNOWAIT | WNOHANG, info);
    const std::optional<SteadyTime> kill_at = KillTime();
    if (kill_at.has_value() && Clock::Real().Now() >= *kill_at) Forward(SIGKILL);
  }
  if (descriptor >= 0) close(descriptor);
}

int SupervisedChild::Wait() {
  AwaitEnd();
  siginfo_t info;
  MutexLock lock(mutex_);
  WaitFor(pid_, WEXITED, info);
  reaped_ = true;
  if (terminal_) GiveTerminal(getpgrp());
  return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

std::vector<std::string> SupervisedChild::EndLeft(absl::Duration grace) {
  return EndLeftProcesses(mark_, grace);
}

absl::Status ExecCommand(const ChildCommand& command) {
  if (command.command.empty()) return absl::InvalidArgumentError("there is no command to start");
  const Prepared prepared = Prepare(command);
  ResetSignals(prepared);
  Execute(prepared);
  return CannotStart(command, errno);
}

}  // namespace autobatch
