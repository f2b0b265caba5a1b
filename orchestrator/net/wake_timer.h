#ifndef ORCHESTRATOR_NET_WAKE_TIMER_H_
#define ORCHESTRATOR_NET_WAKE_TIMER_H_

#include <functional>
#include <memory>
#include <optional>

#include "autobatch/base/clock.h"
#include "orchestrator/net/task_group.h"
#include "orchestrator/net/timers.h"

namespace autobatch {

// Says when a time has come that changes all the while, as a state machine's NextWake() does, or
// the deadline of a stream's next frame. Setting a later one costs nothing.
//
//   WakeTimer timer(tasks, timers, [this] { Handle(Woke{}); });
//   timer.Arm(core.NextWake());  // After everything that was handled.
class WakeTimer {
 public:
  // The callback is not called after this object is gone.
  WakeTimer(TaskGroup& tasks, Timers& timers, std::function<void()> woke);
  ~WakeTimer();
  WakeTimer(const WakeTimer&) = delete;
  WakeTimer& operator=(const WakeTimer&) = delete;

  // Calls back once `time` has come, and no more for any time given before. Absent: never, and
  // nothing is waited for.
  void Arm(std::optional<SteadyTime> time);

 private:
  struct State;
  static void Await(const std::shared_ptr<State>& state, SteadyTime time);
  static void OnTime(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_WAKE_TIMER_H_
