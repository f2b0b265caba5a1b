#include "autobatch/trial/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/json.h"
#include "autobatch/types/protocol.h"

extern char** environ;

namespace autobatch {
namespace {

// Above every number that the guard and the command are given, so that placing one descriptor never
// overwrites another that is still to be placed.
constexpr int kFirstOwnFd = 16;
constexpr size_t kChunk = size_t{64} << 10;
constexpr absl::Duration kKillPatience = absl::Seconds(5);

absl::Status ErrnoStatus(absl::string_view what, int error) {
  const std::string text = absl::StrCat(what, ": ", strerror(error));
  if (error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOMEM) {
    return absl::ResourceExhaustedError(text);
  }
  return error == ENOENT ? absl::NotFoundError(text) : absl::InternalError(text);
}

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus("cannot create a pipe", errno);
  const UniqueFd low_read(fds[0]);
  const UniqueFd low_write(fds[1]);
  Pipe pipe;
  pipe.read = UniqueFd(fcntl(fds[0], F_DUPFD_CLOEXEC, kFirstOwnFd));
  pipe.write = UniqueFd(fcntl(fds[1], F_DUPFD_CLOEXEC, kFirstOwnFd));
  if (!pipe.read.valid() || !pipe.write.valid()) {
    return ErrnoStatus("cannot create a pipe", errno);
  }
  return pipe;
}

void SetNonBlocking(const UniqueFd& fd) {
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

// A relative path would be looked for in the child's own directory.
std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

std::vector<std::string> ChildEnvironment(const ChildOptions& options) {
  std::vector<std::pair<std::string, std::string>> set = options.environment;
  if (options.protocol) {
    set.emplace_back(kRequestFdVariable, absl::StrCat(kFirstCommandFd));
    set.emplace_back(kReportFdVariable, absl::StrCat(kFirstCommandFd + 1));
  }
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    const absl::string_view name = text.substr(0, text.find('='));
    if (std::none_of(set.begin(), set.end(), [&](const auto& s) { return name == s.first; })) {
      all.emplace_back(text);
    }
  }
  for (size_t i = 0; i < set.size(); ++i) {
    // Of a name that is set twice the last one holds.
    const auto later = std::find_if(set.begin() + i + 1, set.end(),
                                    [&](const auto& s) { return s.first == set[i].first; });
    if (later == set.end()) all.push_back(absl::StrCat(set[i].first, "=", set[i].second));
  }
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Attributes and file actions that free themselves.
struct SpawnSetup {
  SpawnSetup() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSID) |
                                              POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// write(2) that reports a reader who is gone as EPIPE and never as a signal: the disposition of
// SIGPIPE belongs to the program that uses this library.
ssize_t WriteWithoutSignal(int fd, absl::string_view bytes) {
  sigset_t pipe_signal;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t written = write(fd, bytes.data(), bytes.size());
  const int error = errno;
  if (written < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
    const timespec now = {};
    sigtimedwait(&pipe_signal, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

}  // namespace

void UniqueFd::Reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

ChildProcess::ChildProcess(const ChildOptions& options)
    : grace_(options.grace),
      stdout_tail_(options.tail_lines, options.tail_bytes),
      stderr_tail_(options.tail_lines, options.tail_bytes) {}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(const ChildOptions& options) {
  if (options.command.empty()) return absl::InvalidArgumentError("an empty command");
  AB_ASSIGN_OR_RETURN(Pipe control, MakePipe());
  AB_ASSIGN_OR_RETURN(Pipe report, MakePipe());
  AB_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  AB_ASSIGN_OR_RETURN(Pipe err, MakePipe());
  Pipe requests;
  Pipe replies;
  if (options.protocol) {
    AB_ASSIGN_OR_RETURN(requests, MakePipe());
    AB_ASSIGN_OR_RETURN(replies, MakePipe());
  }

  SpawnSetup setup;
  posix_spawn_file_actions_addopen(&setup.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&setup.actions, out.write.get(), 1);
  posix_spawn_file_actions_adddup2(&setup.actions, err.write.get(), 2);
  posix_spawn_file_actions_adddup2(&setup.actions, control.read.get(), kGuardControlFd);
  posix_spawn_file_actions_adddup2(&setup.actions, report.write.get(), kGuardReportFd);
  int next = kFirstCommandFd;
  if (options.protocol) {
    posix_spawn_file_actions_adddup2(&setup.actions, requests.read.get(), next++);
    posix_spawn_file_actions_adddup2(&setup.actions, replies.write.get(), next++);
  }
  posix_spawn_file_actions_addclosefrom_np(&setup.actions, next);
  if (!options.working_directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&setup.actions, options.working_directory.c_str());
  }

  const std::string guard = AbsolutePath(options.guard);
  std::vector<std::string> arguments = {
      guard, absl::StrCat(std::max<int64_t>(0, absl::ToInt64Milliseconds(options.grace)))};
  arguments.insert(arguments.end(), options.command.begin(), options.command.end());
  if (absl::StrContains(arguments[2], '/')) arguments[2] = AbsolutePath(arguments[2]);
  std::vector<std::string> environment = ChildEnvironment(options);

  std::unique_ptr<ChildProcess> child(new ChildProcess(options));
  const int error = posix_spawn(&child->guard_, guard.c_str(), &setup.actions, &setup.attributes,
                                Pointers(arguments).data(), Pointers(environment).data());
  if (error != 0) {
    child->exited_ = true;
    return ErrnoStatus(
        absl::StrCat("cannot start ", guard, options.working_directory.empty() ? "" : " in ",
                     options.working_directory),
        error);
  }
  child->control_ = std::move(control.write);
  child->guard_report_ = std::move(report.read);
  child->stdout_ = std::move(out.read);
  child->stderr_ = std::move(err.read);
  child->requests_ = std::move(requests.write);
  child->replies_ = std::move(replies.read);
  for (const UniqueFd* fd : {&child->guard_report_, &child->stdout_, &child->stderr_,
                             &child->requests_, &child->replies_}) {
    if (fd->valid()) SetNonBlocking(*fd);
  }
  return child;
}

ChildProcess::~ChildProcess() {
  std::string ignored;
  EndAndWait(ignored);
}

void ChildProcess::Send(absl::string_view bytes) {
  absl::StrAppend(&unsent_, bytes);
  WriteRequests();
}

void ChildProcess::CloseRequests() {
  close_requests_ = true;
  WriteRequests();
}

void ChildProcess::WriteRequests() {
  while (requests_.valid() && !unsent_.empty()) {
    const ssize_t written = WriteWithoutSignal(requests_.get(), unsent_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    if (written < 0) requests_.Reset();  // Nobody reads any more: the exit tells why.
    if (written > 0) unsent_.erase(0, static_cast<size_t>(written));
  }
  if (close_requests_) requests_.Reset();
}

bool ChildProcess::ReadOnce(int fd, std::string& bytes) {
  char chunk[kChunk];
  const ssize_t got = read(fd, chunk, sizeof(chunk));
  if (got > 0) bytes.append(chunk, static_cast<size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

void ChildProcess::ReadTail(UniqueFd& fd, LineTail& tail) {
  std::string bytes;
  if (!ReadOnce(fd.get(), bytes)) fd.Reset();
  tail.Append(bytes);
}

void ChildProcess::Finish(std::string& output) {
  exited_ = true;
  requests_.Reset();
  control_.Reset();
  // The writers are gone: what is left is what the pipes hold, far less than this many chunks.
  constexpr int kMost = 32;
  for (int i = 0; i < kMost && replies_.valid(); ++i) {
    if (!ReadOnce(replies_.get(), output)) replies_.Reset();
  }
  for (int i = 0; i < kMost && stdout_.valid(); ++i) ReadTail(stdout_, stdout_tail_);
  for (int i = 0; i < kMost && stderr_.valid(); ++i) ReadTail(stderr_, stderr_tail_);
  stdout_.Reset();
  stderr_.Reset();
  replies_.Reset();
  guard_report_.Reset();
  if (absl::StatusOr<GuardReport> report = FromJson<GuardReport>(report_text_); report.ok()) {
    report_ = *report;
  }
  while (waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

ChildEvent ChildProcess::Wait(SteadyTime deadline, const CancelSignal& cancel,
                              std::string& output) {
  const size_t had = output.size();
  while (!exited_) {
    if (cancel.IsSet()) return ChildEvent::kCancelled;
    const absl::Duration left = Between(Clock::Real().Now(), deadline);
    if (left <= absl::ZeroDuration()) return ChildEvent::kDeadline;

    // A negative descriptor is passed over.
    pollfd fds[] = {
        {guard_report_.get(), POLLIN, 0},
        {stdout_.get(), POLLIN, 0},
        {stderr_.get(), POLLIN, 0},
        {replies_.get(), POLLIN, 0},
        {unsent_.empty() ? -1 : requests_.get(), POLLOUT, 0},
        {cancel.fd(), POLLIN, 0},
    };
    const timespec timeout = absl::ToTimespec(std::min(left, absl::Hours(24)));
    if (ppoll(fds, std::size(fds), &timeout, nullptr) <= 0) continue;

    if (fds[4].revents != 0) WriteRequests();
    if (fds[1].revents != 0) ReadTail(stdout_, stdout_tail_);
    if (fds[2].revents != 0) ReadTail(stderr_, stderr_tail_);
    bool closed = false;
    if (fds[3].revents != 0 && !ReadOnce(replies_.get(), output)) {
      replies_.Reset();
      closed = true;
    }
    if (fds[0].revents != 0 && !ReadOnce(guard_report_.get(), report_text_)) Finish(output);
    if (output.size() > had) return ChildEvent::kOutput;
    if (closed && !exited_) return ChildEvent::kClosed;
  }
  return ChildEvent::kExited;
}

void ChildProcess::End() {
  control_.Reset();
  requests_.Reset();
}

bool ChildProcess::EndAndWait(std::string& output) {
  End();
  const CancelSignal never;
  const SteadyTime deadline = Add(Clock::Real().Now(), grace_ + kKillPatience);
  while (true) {
    const ChildEvent event = Wait(deadline, never, output);
    if (event == ChildEvent::kExited) return true;
    if (event == ChildEvent::kDeadline) {
      exited_ = true;  // To us: nothing is read or waited for any more.
      return false;
    }
    // A child that goes on talking is heard no longer.
    if (output.size() > kChunk * 32) replies_.Reset();
  }
}

}  // namespace autobatch
