#ifndef AUTOBATCH_TRIAL_CANCEL_SIGNAL_H_
#define AUTOBATCH_TRIAL_CANCEL_SIGNAL_H_

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace autobatch {

// Set once, for good; a wait in poll() sees it. An eventfd, because nothing else wakes a poll from
// any thread and from a signal handler alike.
class CancelSignal {
 public:
  CancelSignal() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~CancelSignal() {
    if (fd_ >= 0) close(fd_);
  }
  CancelSignal(const CancelSignal&) = delete;
  CancelSignal& operator=(const CancelSignal&) = delete;

  // Async-signal-safe and thread-safe.
  void Set() {
    const uint64_t one = 1;
    // Fails only when it is set 2^64 - 2 times over.
    if (write(fd_, &one, sizeof(one)) < 0) return;
  }

  bool IsSet() const {
    pollfd poll_fd = {fd_, POLLIN, 0};
    return poll(&poll_fd, 1, 0) == 1;
  }

  // Readable from Set on. Negative when this process has no descriptor left.
  int fd() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_CANCEL_SIGNAL_H_
