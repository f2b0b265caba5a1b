#ifndef AUTOBATCH_TRIAL_CHILD_PROCESS_H_
#define AUTOBATCH_TRIAL_CHILD_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "autobatch/base/clock.h"
#include "autobatch/trial/cancel_signal.h"
#include "autobatch/trial/guard_report.h"
#include "autobatch/trial/line_tail.h"

namespace autobatch {

// A descriptor that closes itself.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

struct ChildOptions {
  // Path of the guard program.
  std::string guard;
  // The program (a path, or a name in PATH) and its arguments.
  std::vector<std::string> command;
  // On top of this process's own environment.
  std::vector<std::pair<std::string, std::string>> environment;
  // Empty: this process's own.
  std::string working_directory;
  // Give it the two descriptors of the trial protocol (types/protocol.h).
  bool protocol = false;
  // From SIGTERM to SIGKILL.
  absl::Duration grace = absl::Seconds(3);
  // What is kept of stdout and of stderr each.
  size_t tail_lines = 40;
  size_t tail_bytes = size_t{8} << 10;
};

enum class ChildEvent {
  kOutput,  // Bytes came on the protocol.
  kClosed,  // The child closed its end of the protocol, and may live on. Told once.
  kExited,  // It and its descendants are gone, and all that they wrote has been read.
  kDeadline,
  kCancelled,
};

// A command in a session of its own, under the guard, which ends it together with its descendants
// when this object or this process is gone. Its stdin is /dev/null; stdout and stderr are read
// while waiting, and all but the last lines thrown away. It inherits no other descriptor, and
// default signal handling. One thread at a time.
class ChildProcess {
 public:
  // ResourceExhausted: this process has no descriptors or processes left. NotFound: no guard there.
  // A command that cannot be executed is no error here: it exits with a `start_errno`.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(const ChildOptions& options);

  // Ends the child, and waits for it as EndAndWait.
  ~ChildProcess();

  // Queues bytes for the child's protocol; they are written while waiting. Never blocks.
  void Send(absl::string_view bytes);
  // Closes our end once all is written: the child reads end of file.
  void CloseRequests();

  // Waits for the first of these events; bytes of the protocol are appended to `output`. kExited,
  // kCancelled and kDeadline come again at every further call.
  ChildEvent Wait(SteadyTime deadline, const CancelSignal& cancel, std::string& output);

  // SIGTERM to the child's process group, and after the grace SIGKILL to all of it. Returns at
  // once.
  void End();

  // Ends it and waits until it is gone, for the grace and 5 s at most. False when the kernel does
  // not let go of it (a process that hangs in a driver): the guard stays with it, this object
  // forgets it.
  bool EndAndWait(std::string& output);

  // The guard's number: the command and all its descendants are below it.
  pid_t guard_pid() const { return guard_; }

  // How it ended; absent before kExited, and when the guard itself was killed.
  const std::optional<GuardReport>& report() const { return report_; }
  std::string StdoutTail() const { return stdout_tail_.Text(); }
  std::string StderrTail() const { return stderr_tail_.Text(); }

 private:
  explicit ChildProcess(const ChildOptions& options);

  void WriteRequests();
  // Reads once; false at end of file.
  bool ReadOnce(int fd, std::string& bytes);
  void ReadTail(UniqueFd& fd, LineTail& tail);
  void Finish(std::string& output);

  const absl::Duration grace_;
  pid_t guard_ = 0;
  UniqueFd control_;
  UniqueFd guard_report_;
  UniqueFd stdout_;
  UniqueFd stderr_;
  UniqueFd requests_;
  UniqueFd replies_;
  std::string unsent_;
  bool close_requests_ = false;
  bool exited_ = false;
  std::string report_text_;
  std::optional<GuardReport> report_;
  LineTail stdout_tail_;
  LineTail stderr_tail_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_CHILD_PROCESS_H_
