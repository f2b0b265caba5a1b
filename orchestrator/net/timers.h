#ifndef ORCHESTRATOR_NET_TIMERS_H_
#define ORCHESTRATOR_NET_TIMERS_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/clock.h"

namespace autobatch {

// What time it is and how to wait for it, in coroutines of one executor.
class Timers {
 public:
  virtual ~Timers() = default;

  // Steady.
  virtual SteadyTime Now() const = 0;

  // Ends at `time`, or earlier when the coroutine is cancelled; throws nothing.
  virtual boost::asio::awaitable<void> WaitUntil(SteadyTime time) = 0;

  // The machine's.
  static std::unique_ptr<Timers> Real(boost::asio::any_io_executor executor);
};

// `operation`, or DeadlineExceeded("<what>: not done in time") if it has not ended by then: it is
// cancelled, and has ended when this returns. Result is an absl::Status or a StatusOr; what the
// operation was reading or writing must be closed afterwards. `timers` outlives the call.
template <typename Result>
boost::asio::awaitable<Result> WithDeadline(Timers& timers, SteadyTime deadline, std::string what,
                                            boost::asio::awaitable<Result> operation) {
  using boost::asio::experimental::awaitable_operators::operator||;
  // After a cancellation from outside, the status below still has to be returned.
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  std::variant<Result, std::monostate> first =
      co_await (std::move(operation) || timers.WaitUntil(deadline));
  if (first.index() == 0) co_return std::get<0>(std::move(first));
  if (timers.Now() < deadline) co_return absl::CancelledError(absl::StrCat(what, ": cancelled"));
  co_return absl::DeadlineExceededError(absl::StrCat(what, ": not done in time"));
}

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_TIMERS_H_
