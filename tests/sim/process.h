#ifndef TESTS_SIM_PROCESS_H_
#define TESTS_SIM_PROCESS_H_

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "tests/sim/virtual_time.h"

namespace autobatch::sim {

// One run of a program: what SIGSTOP, SIGCONT and SIGKILL do to it. Everything that happens to a
// program is posted here; a stopped one finds it all when it goes on, a killed one never.
class Process : public std::enable_shared_from_this<Process> {
 public:
  explicit Process(VirtualTime& time) : time_(time) {}

  void Post(std::function<void()> task) {
    if (dead_) return;
    if (stopped_) {
      waiting_.push_back(std::move(task));
    } else {
      task();
    }
  }
  void PostAt(SteadyTime when, std::function<void()> task) {
    time_.At(when, [self = shared_from_this(), task = std::move(task)] { self->Post(task); });
  }
  void PostAfter(absl::Duration delay, std::function<void()> task) {
    PostAt(Add(time_.Now(), delay), std::move(task));
  }

  void Stop() { stopped_ = true; }
  void Continue() {
    stopped_ = false;
    while (!dead_ && !stopped_ && !waiting_.empty()) {
      const std::function<void()> task = std::move(waiting_.front());
      waiting_.pop_front();
      task();
    }
  }
  void Kill() {
    dead_ = true;
    waiting_.clear();
  }
  bool dead() const { return dead_; }
  bool stopped() const { return stopped_; }

 private:
  VirtualTime& time_;
  bool stopped_ = false;
  bool dead_ = false;
  std::deque<std::function<void()>> waiting_;
};

}  // namespace autobatch::sim

#endif  // TESTS_SIM_PROCESS_H_
