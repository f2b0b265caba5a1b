#include "orchestrator/net/wake_timer.h"

#include <utility>

namespace autobatch {

struct WakeTimer::State {
  const TaskGroup* tasks;
  Timers* timers;
  std::function<void()> woke;
  std::optional<SteadyTime> wanted;
  // The time that is waited for. It stays when a later one is wanted, which is looked at when it
  // comes: a machine's next time changes with every message, and mostly to a later one.
  SteadyTime awaited;
  std::unique_ptr<TimedCall> call;
};

WakeTimer::WakeTimer(TaskGroup& tasks, Timers& timers, std::function<void()> woke)
    : state_(std::make_shared<State>(&tasks, &timers, std::move(woke))) {}

WakeTimer::~WakeTimer() { state_->call.reset(); }

void WakeTimer::Arm(std::optional<SteadyTime> time) {
  state_->wanted = time;
  if (!time.has_value()) {
    state_->call.reset();
  } else if (state_->call == nullptr || *time < state_->awaited) {
    Await(state_, *time);
  }
}

void WakeTimer::Await(const std::shared_ptr<State>& state, SteadyTime time) {
  state->awaited = time;
  state->call = state->timers->CallAt(time, [state] { OnTime(state); });
}

void WakeTimer::OnTime(const std::shared_ptr<State>& state) {
  state->call.reset();
  if (state->tasks->cancelled()) return;
  if (*state->wanted <= state->timers->Now()) {
    state->wanted.reset();
    state->woke();
  } else {
    Await(state, *state->wanted);
  }
}

}  // namespace autobatch
