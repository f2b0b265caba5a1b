#include "orchestrator/net/wake_timer.h"

#include <utility>

namespace autobatch {

namespace asio = boost::asio;

struct WakeTimer::State {
  TaskGroup* tasks;
  Timers* timers;
  std::function<void()> woke;
  std::optional<SteadyTime> wanted;
  // Times that a task waits for. A later one stays when an earlier one is wanted and is looked at
  // when it comes: a machine's next time changes with every message, and mostly to a later one.
  std::multiset<SteadyTime> waiting;
};

WakeTimer::WakeTimer(TaskGroup& tasks, Timers& timers, std::function<void()> woke)
    : state_(std::make_shared<State>(&tasks, &timers, std::move(woke))) {}

WakeTimer::~WakeTimer() {
  state_->wanted.reset();
  state_->woke = nullptr;
}

void WakeTimer::Arm(std::optional<SteadyTime> time) {
  state_->wanted = time;
  if (!time.has_value()) return;
  if (!state_->waiting.empty() && *state_->waiting.begin() <= *time) return;
  Wait(state_, *time);
}

// The time counts as waited for at once: its task begins in the loop's next turn only.
void WakeTimer::Wait(const std::shared_ptr<State>& state, SteadyTime time) {
  state->tasks->Spawn("wake", WaitFor(state, state->waiting.insert(time)));
}

asio::awaitable<void> WakeTimer::WaitFor(std::shared_ptr<State> state,
                                         std::multiset<SteadyTime>::iterator place) {
  const SteadyTime time = *place;
  co_await state->timers->WaitUntil(time);
  state->waiting.erase(place);
  const SteadyTime now = state->timers->Now();
  if (!state->wanted.has_value() || now < time) co_return;  // Cancelled.
  if (*state->wanted <= now) {
    state->wanted.reset();
    state->woke();
  } else if (state->waiting.empty() || *state->waiting.begin() > *state->wanted) {
    Wait(state, *state->wanted);
  }
}

}  // namespace autobatch
