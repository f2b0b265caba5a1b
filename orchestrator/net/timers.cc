#include "orchestrator/net/timers.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace autobatch {

struct TimedCall::State {
  boost::asio::steady_timer timer;
  std::function<void()> call;
};

TimedCall::TimedCall(boost::asio::steady_timer timer, std::function<void()> call)
    : state_(std::make_shared<State>(std::move(timer), std::move(call))) {
  state_->timer.async_wait([state = state_](const boost::system::error_code&) {
    if (const std::function<void()> call = std::exchange(state->call, nullptr)) call();
  });
}

TimedCall::~TimedCall() {
  state_->call = nullptr;
  state_->timer.cancel();
}

boost::asio::steady_timer& TimedCall::timer() { return state_->timer; }

namespace {

class RealTimers final : public Timers {
 public:
  explicit RealTimers(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

  SteadyTime Now() const override { return std::chrono::steady_clock::now(); }

  boost::asio::awaitable<void> WaitUntil(SteadyTime time) override {
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    boost::asio::steady_timer timer(executor_, time);
    co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  }

  std::unique_ptr<TimedCall> CallAt(SteadyTime time, std::function<void()> call) override {
    return std::make_unique<TimedCall>(boost::asio::steady_timer(executor_, time), std::move(call));
  }

 private:
  boost::asio::any_io_executor executor_;
};

}  // namespace

std::unique_ptr<Timers> Timers::Real(boost::asio::any_io_executor executor) {
  return std::make_unique<RealTimers>(std::move(executor));
}

}  // namespace autobatch
