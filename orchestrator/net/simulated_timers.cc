#include "orchestrator/net/simulated_timers.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <map>
#include <utility>

#include "absl/cleanup/cleanup.h"

namespace autobatch {

struct SimulatedTimers::State {
  SteadyTime now{std::chrono::hours(1)};
  // Real timers that never expire by themselves, to fire one is to cancel it; by the time they wait
  // for, equal times in the order of their calls.
  std::multimap<SteadyTime, boost::asio::steady_timer*> waiters;

  using Place = std::multimap<SteadyTime, boost::asio::steady_timer*>::iterator;

  // What has fired was taken out then, and its time is no later than now.
  void Forget(SteadyTime time, Place place) {
    if (time > now) waiters.erase(place);
  }

  void FireDue() {
    while (!waiters.empty() && waiters.begin()->first <= now) {
      waiters.begin()->second->cancel();
      waiters.erase(waiters.begin());
    }
  }
};

namespace {

// By value: what it works on is in its own frame.
template <typename State>
boost::asio::awaitable<void> Wait(std::shared_ptr<State> state, boost::asio::io_context& io,
                                  SteadyTime time) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  if (time <= state->now) co_return;
  boost::asio::steady_timer timer(io, SteadyTime::max());
  const auto place = state->waiters.emplace(time, &timer);
  const absl::Cleanup forget = [&state, time, place] { state->Forget(time, place); };
  co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

template <typename Waiting>
class SimulatedCall final : public TimedCall {
 public:
  SimulatedCall(std::shared_ptr<Waiting> state, boost::asio::io_context& io, SteadyTime time,
                std::function<void()> call)
      : TimedCall(boost::asio::steady_timer(io, SteadyTime::max()), std::move(call)),
        state_(std::move(state)),
        time_(time),
        place_(state_->waiters.emplace(time, &timer())) {
    state_->FireDue();
  }
  ~SimulatedCall() override { state_->Forget(time_, place_); }

 private:
  const std::shared_ptr<Waiting> state_;
  const SteadyTime time_;
  const typename Waiting::Place place_;
};

}  // namespace

SimulatedTimers::SimulatedTimers(boost::asio::io_context& io)
    : io_(io), state_(std::make_shared<State>()) {}

SimulatedTimers::~SimulatedTimers() = default;

SteadyTime SimulatedTimers::Now() const { return state_->now; }

boost::asio::awaitable<void> SimulatedTimers::WaitUntil(SteadyTime time) {
  return Wait(state_, io_, time);
}

std::unique_ptr<TimedCall> SimulatedTimers::CallAt(SteadyTime time, std::function<void()> call) {
  return std::make_unique<SimulatedCall<State>>(state_, io_, time, std::move(call));
}

void SimulatedTimers::Jump(absl::Duration by) {
  state_->now = Add(state_->now, by);
  state_->FireDue();
}

void SimulatedTimers::Advance(absl::Duration by) {
  const SteadyTime end = Add(state_->now, by);
  RunUntil([] { return false; }, by);
  Jump(Between(state_->now, end));
  io_.restart();
  io_.poll();
}

bool SimulatedTimers::RunUntil(const std::function<bool()>& done, absl::Duration limit) {
  const SteadyTime end = Add(state_->now, limit);
  while (true) {
    io_.restart();
    // One handler at a time: `done` is looked at after each.
    while (!done() && io_.poll_one() > 0) {
    }
    if (done()) return true;
    if (state_->waiters.empty() || state_->waiters.begin()->first > end) return false;
    state_->now = state_->waiters.begin()->first;
    state_->FireDue();
  }
}

}  // namespace autobatch
