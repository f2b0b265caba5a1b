#include "orchestrator/net/timers.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace autobatch {
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

 private:
  boost::asio::any_io_executor executor_;
};

}  // namespace

std::unique_ptr<Timers> Timers::Real(boost::asio::any_io_executor executor) {
  return std::make_unique<RealTimers>(std::move(executor));
}

}  // namespace autobatch
