#ifndef ORCHESTRATOR_NET_EVENT_H_
#define ORCHESTRATOR_NET_EVENT_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace autobatch {

// Wakes coroutines of one thread: those that wait when Signal() is called, and none that come
// later. What they wait for is looked at in a loop:
//
//     while (queue.empty() && !closed) co_await event.Wait();
class Event {
 public:
  explicit Event(boost::asio::any_io_executor executor)
      : timer_(std::move(executor), boost::asio::steady_timer::time_point::max()) {}

  // Ends at the next signal, or when the coroutine is cancelled; throws nothing. The event may be
  // destroyed meanwhile: that wakes too.
  boost::asio::awaitable<void> Wait() {
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  }

  void Signal() { timer_.cancel(); }

 private:
  // Never expires: waking is cancelling.
  boost::asio::steady_timer timer_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_EVENT_H_
