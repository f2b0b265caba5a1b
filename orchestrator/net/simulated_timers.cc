#include "orchestrator/net/simulated_timers.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "absl/cleanup/cleanup.h"

namespace autobatch {

// A real timer that never expires by itself: firing it is cancelling it.
struct SimulatedTimers::Waiter {
  boost::asio::steady_timer timer;
};

boost::asio::awaitable<void> SimulatedTimers::WaitUntil(SteadyTime time) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  if (time <= now_) co_return;
  Waiter waiter{boost::asio::steady_timer(io_, SteadyTime::max())};
  const auto place = waiters_.emplace(time, &waiter);
  // A fired waiter has been taken out already, and its key is no later than now.
  const absl::Cleanup forget = [this, time, place] {
    if (time > now_) waiters_.erase(place);
  };
  co_await waiter.timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

void SimulatedTimers::FireDue() {
  while (!waiters_.empty() && waiters_.begin()->first <= now_) {
    waiters_.begin()->second->timer.cancel();
    waiters_.erase(waiters_.begin());
  }
}

void SimulatedTimers::Jump(absl::Duration by) {
  now_ = Add(now_, by);
  FireDue();
}

void SimulatedTimers::Advance(absl::Duration by) {
  const SteadyTime end = Add(now_, by);
  RunUntil([] { return false; }, by);
  Jump(Between(now_, end));
  io_.restart();
  io_.poll();
}

bool SimulatedTimers::RunUntil(const std::function<bool()>& done, absl::Duration limit) {
  const SteadyTime end = Add(now_, limit);
  while (true) {
    io_.restart();
    // One handler at a time: `done` is looked at after each.
    while (!done() && io_.poll_one() > 0) {
    }
    if (done()) return true;
    if (waiters_.empty() || waiters_.begin()->first > end) return false;
    now_ = waiters_.begin()->first;
    FireDue();
  }
}

}  // namespace autobatch
