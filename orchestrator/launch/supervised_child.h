#ifndef ORCHESTRATOR_LAUNCH_SUPERVISED_CHILD_H_
#define ORCHESTRATOR_LAUNCH_SUPERVISED_CHILD_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "autobatch/base/clock.h"
#include "autobatch/base/mutex.h"
#include "orchestrator/dialect/environment.h"

namespace autobatch {

struct ChildCommand {
  // The program (a path, or a name in PATH) and its arguments.
  std::vector<std::string> command;
  // Added to, or instead of, those of `base`; without one, of this process's own environment.
  std::vector<std::pair<std::string, std::string>> environment;
  std::optional<Environment> base;
  // Empty: this process's own.
  std::string working_directory;
  // Of this process's descriptors, those that the command inherits besides the standard ones, in
  // ascending order: what came after them is ours. Absent: all that are not closed on exec.
  std::optional<std::vector<int>> descriptors;
};

// What is open now, in ascending order: at the start of a program, what its starter hands down.
std::vector<int> OpenDescriptors();

// A training command in a process group of its own, with this process's stdin, stdout and stderr
// (and its terminal, if it has one in the foreground). When this process is killed, the command
// gets SIGTERM. Descendants that outlive their parents come to this process.
//
//   AB_ASSIGN_OR_RETURN(auto child, SupervisedChild::Start(command));
//   relay.SetHandler([&](int signal) { child->Forward(signal); });
//   const int exit_code = child->Wait();
//   child->EndLeft(absl::Seconds(10));
class SupervisedChild {
 public:
  // NotFound, PermissionDenied and others of errno: the command cannot be executed. Signals that
  // SignalRelay blocks are not blocked in it.
  static absl::StatusOr<std::unique_ptr<SupervisedChild>> Start(const ChildCommand& command);

  SupervisedChild(const SupervisedChild&) = delete;
  SupervisedChild& operator=(const SupervisedChild&) = delete;

  // To the command's process group. From any thread; nothing once it has ended.
  void Forward(int signal);

  // SIGTERM to it now, and SIGKILL after the grace, by the thread that waits. From any thread.
  void End(absl::Duration grace);

  // Waits for the command's end: its exit code, or 128 + the signal that ended it.
  int Wait();

  // To be called after Wait(): SIGTERM to every descendant that the command has left behind, and
  // SIGKILL after the grace. Returns their names, "python (pid 7)", without helpers that end by
  // themselves at once. A descendant is known by AUTOBATCH_SUPERVISOR in its environment.
  std::vector<std::string> EndLeft(absl::Duration grace);

  pid_t pid() const { return pid_; }

 private:
  SupervisedChild(pid_t pid, bool terminal, std::string mark)
      : pid_(pid), terminal_(terminal), mark_(std::move(mark)) {}
  // Until it has ended; it is not reaped.
  void AwaitEnd();
  // When to kill it, if it is to be.
  std::optional<SteadyTime> KillTime();

  const pid_t pid_;
  // It has been given this process's terminal.
  const bool terminal_;
  // "AUTOBATCH_SUPERVISOR=…", which all of its descendants inherit.
  const std::string mark_;
  Mutex mutex_;
  std::optional<SteadyTime> kill_at_ ABSL_GUARDED_BY(mutex_);
  // Its number may belong to another process from then on.
  bool reaped_ ABSL_GUARDED_BY(mutex_) = false;
};

// Replaces this process by the command; returns only where that is not possible.
absl::Status ExecCommand(const ChildCommand& command);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_SUPERVISED_CHILD_H_
