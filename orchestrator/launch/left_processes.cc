#include "orchestrator/launch/left_processes.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/clock.h"
#include "autobatch/base/files.h"

namespace autobatch {
namespace {

constexpr absl::Duration kStraggler = absl::Milliseconds(500);
// SIGKILL needs no longer, unless the kernel does not let go (a driver that hangs).
constexpr absl::Duration kAfterKill = absl::Seconds(5);
constexpr size_t kMostNames = 16;

struct Left {
  pid_t pid = 0;
  std::string name;
  // Whether it bears the mark is not to be seen yet.
  bool undecided = false;
};

// The process if it is a living child of ours: "pid (name) state parent …", where the name may hold
// anything.
bool ReadChild(pid_t pid, Left& left) {
  const absl::StatusOr<std::string> stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
  if (!stat.ok()) return false;
  const size_t open = stat->find('(');
  const size_t close = stat->rfind(')');
  char state = 'Z';
  int parent = 0;
  if (open == std::string::npos || close == std::string::npos ||
      std::sscanf(stat->c_str() + close + 1, " %c %d", &state, &parent) != 2) {
    return false;
  }
  left = {pid, stat->substr(open + 1, close - open - 1)};
  return parent == getpid() && state != 'Z';
}

// Whether it bears the mark. Its environment is empty for the moment in which it becomes another
// program.
bool MayBeMarked(Left& child, const std::string& mark) {
  const absl::StatusOr<std::string> environment =
      ReadFile(absl::StrCat("/proc/", child.pid, "/environ"));
  if (!environment.ok()) return false;
  child.undecided = environment->empty();
  if (child.undecided) return true;
  for (const absl::string_view variable : absl::StrSplit(*environment, '\0')) {
    if (variable == mark) return true;
  }
  return false;
}

std::vector<Left> Children(const std::string& mark) {
  std::vector<Left> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (proc == nullptr) return children;
  while (const dirent* entry = readdir(proc.get())) {
    pid_t pid = 0;
    Left child;
    if (absl::SimpleAtoi(entry->d_name, &pid) && ReadChild(pid, child) &&
        MayBeMarked(child, mark)) {
      children.push_back(child);
    }
  }
  return children;
}

// Until one of them has ended, or the deadline.
void WaitForOne(const std::vector<Left>& children, SteadyTime deadline) {
  std::vector<pollfd> descriptors;
  for (const Left& child : children) {
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, child.pid, 0));
    if (descriptor >= 0) descriptors.push_back({descriptor, POLLIN, 0});
  }
  const absl::Duration left = Between(Clock::Real().Now(), deadline);
  // Without descriptors for all of them (a process that just ended), or where it is not clear whose
  // they are, look again soon.
  const bool clear =
      descriptors.size() == children.size() && std::ranges::none_of(children, &Left::undecided);
  const absl::Duration longest = clear ? left : std::min(left, absl::Milliseconds(20));
  poll(descriptors.data(), descriptors.size(),
       static_cast<int>(std::max<int64_t>(0, absl::ToInt64Milliseconds(longest))));
  for (const pollfd& descriptor : descriptors) close(descriptor.fd);
}

// Waits until there are none left or the time is up, sending each one `signal` once (0: none).
std::vector<Left> EndUntil(const std::string& mark, SteadyTime deadline, int signal) {
  std::set<pid_t> seen;
  while (true) {
    // By number: this process may have other children, for which somebody else waits.
    for (const pid_t pid : seen) waitpid(pid, nullptr, WNOHANG);
    std::vector<Left> children = Children(mark);
    const bool late = Clock::Real().Now() >= deadline;
    // An environment that stays empty is its own.
    if (late) std::erase_if(children, [](const Left& child) { return child.undecided; });
    if (late || children.empty()) return children;
    for (const Left& child : children) {
      if (child.undecided || !seen.insert(child.pid).second || signal == 0) continue;
      kill(child.pid, signal);
      kill(child.pid, SIGCONT);  // A stopped process takes its SIGTERM only then.
    }
    WaitForOne(children, deadline);
  }
}

}  // namespace

std::vector<std::string> EndLeftProcesses(const std::string& mark, absl::Duration grace) {
  const std::vector<Left> left = EndUntil(mark, Add(Clock::Real().Now(), kStraggler), 0);
  std::vector<std::string> names;
  for (size_t at = 0; at < std::min(left.size(), kMostNames); ++at) {
    names.push_back(absl::StrCat(left[at].name, " (pid ", left[at].pid, ")"));
  }
  if (left.empty()) return names;
  EndUntil(mark, Add(Clock::Real().Now(), grace), SIGTERM);
  EndUntil(mark, Add(Clock::Real().Now(), kAfterKill), SIGKILL);
  return names;
}

}  // namespace autobatch
