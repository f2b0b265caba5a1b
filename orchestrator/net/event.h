#ifndef ORCHESTRATOR_NET_EVENT_H_
#define ORCHESTRATOR_NET_EVENT_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace autobatch {

// Wakes coroutines of one thread: those that wait when Signal() is called, and none that come
// later. What they wait for is looked at in a loop:
//
//     while (queue.empty()) {
//       if (!co_await event.Wait()) co_return absl::CancelledError("...");
//     }
class Event {
 public:
  explicit Event(const boost::asio::any_io_executor& executor)
      : timer_(executor, boost::asio::steady_timer::time_point::max()) {}

  // Ends at the next signal, or at once with false if the calling coroutine is or was cancelled;
  // throws nothing.
  boost::asio::awaitable<bool> Wait() {
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    if (co_await Cancelled()) co_return false;
    co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    co_return !co_await Cancelled();
  }

  void Signal() { timer_.cancel(); }

 private:
  static boost::asio::awaitable<bool> Cancelled() {
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    co_return state.cancelled() != boost::asio::cancellation_type::none;
  }

  // Never expires: waking is cancelling.
  boost::asio::steady_timer timer_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_EVENT_H_
