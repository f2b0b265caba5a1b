#ifndef TESTS_SIM_VIRTUAL_TIME_H_
#define TESTS_SIM_VIRTUAL_TIME_H_

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "autobatch/base/clock.h"

namespace autobatch::sim {

// The steady clock of a simulated cluster, and everything that will happen in it. Time moves only
// from one event to the next, so that a week costs what happens in it.
class VirtualTime {
 public:
  using Task = std::function<void()>;

  SteadyTime Now() const { return now_; }

  // Runs a task at that time, or now if it is past. Tasks of one instant run in the order in which
  // they were asked for, so that a run is the same every time.
  void At(SteadyTime when, Task task);
  void After(absl::Duration delay, Task task);

  // Runs all that is due up to `until`; then it is `until`. Internal: an instant that does not end,
  // each of its tasks asking for another.
  absl::Status RunUntil(SteadyTime until);

 private:
  struct Event {
    SteadyTime when;
    int64_t sequence = 0;
    Task task;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.when != b.when ? a.when > b.when : a.sequence > b.sequence;
    }
  };

  SteadyTime now_{std::chrono::hours(1)};
  int64_t next_sequence_ = 0;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
};

}  // namespace autobatch::sim

#endif  // TESTS_SIM_VIRTUAL_TIME_H_
