#ifndef ORCHESTRATOR_NET_TIMERS_H_
#define ORCHESTRATOR_NET_TIMERS_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/clock.h"

namespace autobatch {

// A call that is due at a time. Not made any more once this is gone; it may go within the call.
class TimedCall {
 public:
  TimedCall(boost::asio::steady_timer timer, std::function<void()> call);
  virtual ~TimedCall();
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;

 protected:
  boost::asio::steady_timer& timer();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// What time it is and how to wait for it, in coroutines of one executor.
class Timers {
 public:
  virtual ~Timers() = default;

  // Steady.
  virtual SteadyTime Now() const = 0;

  // Ends at `time`, or earlier when the coroutine is cancelled; throws nothing.
  virtual boost::asio::awaitable<void> WaitUntil(SteadyTime time) = 0;

  // Calls at `time` from the executor, as long as what is returned lives. Where there are many: it
  // takes less than a coroutine that waits.
  virtual std::unique_ptr<TimedCall> CallAt(SteadyTime time, std::function<void()> call) = 0;

  // The machine's.
  static std::unique_ptr<Timers> Real(boost::asio::any_io_executor executor);
};

namespace net_internal {

// Asio's own steps behind an operation do not feel that it was cancelled.
template <typename Result>
boost::asio::awaitable<Result> Unbroken(boost::asio::awaitable<Result> operation) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  co_return co_await std::move(operation);
}

}  // namespace net_internal

// `operation`, or DeadlineExceeded("<what>: not done in time") if it has not ended by then: it is
// cancelled, and has ended when this returns. Result is an absl::Status or a StatusOr; what the
// operation was reading or writing must be closed afterwards. `timers` outlives the call.
template <typename Result>
boost::asio::awaitable<Result> WithDeadline(Timers& timers, SteadyTime deadline, std::string what,
                                            boost::asio::awaitable<Result> operation) {
  namespace asio = boost::asio;
  constexpr auto kEnd = asio::cancellation_type::terminal;
  // After a cancellation from outside, the status below still has to be returned.
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::cancellation_signal end;
  bool late = false;
  const std::unique_ptr<TimedCall> call = timers.CallAt(deadline, [&end, &late] {
    late = true;
    end.emit(kEnd);
  });
  asio::cancellation_slot outside = (co_await asio::this_coro::cancellation_state).slot();
  if (outside.is_connected()) {
    outside.assign([&end](asio::cancellation_type) { end.emit(kEnd); });
  }
  // Unlike Asio's operators this goes on in the same turn: what follows a handshake does not stand
  // behind everybody else's.
  Result result = co_await asio::co_spawn(
      co_await asio::this_coro::executor, net_internal::Unbroken(std::move(operation)),
      asio::bind_cancellation_slot(end.slot(), asio::use_awaitable));
  if (outside.is_connected()) outside.clear();
  if (late) co_return absl::DeadlineExceededError(absl::StrCat(what, ": not done in time"));
  co_return result;
}

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_TIMERS_H_
