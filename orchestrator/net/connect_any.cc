#include "orchestrator/net/connect_any.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "orchestrator/net/event.h"
#include "orchestrator/net/listen_socket.h"
#include "orchestrator/net/net_status.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

struct Race {
  explicit Race(const asio::any_io_executor& executor) : changed(executor) {}

  // Of the attempts under way.
  std::list<tcp::socket> sockets;
  std::optional<tcp::socket> winner;
  std::vector<std::string> failures;
  Event changed;
  bool over = false;
};

// With a port of the kernel's own choice, a call to a port of this host that nobody listens on can
// meet itself.
bool MetItself(const tcp::socket& socket) {
  boost::system::error_code error;
  return socket.local_endpoint(error) == socket.remote_endpoint(error) && !error;
}

asio::awaitable<void> Attempt(std::shared_ptr<Race> race, std::list<tcp::socket>::iterator socket,
                              tcp::endpoint endpoint) {
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto [error] =
      co_await socket->async_connect(endpoint, asio::as_tuple(asio::use_awaitable));
  const absl::Status status =
      error ? NetStatus(error, AddressText(endpoint))
      : MetItself(*socket)
          ? absl::UnavailableError(absl::StrCat(AddressText(endpoint), ": nobody listens"))
          : absl::OkStatus();
  if (!race->over) {
    if (!status.ok()) {
      race->failures.emplace_back(status.message());
    } else if (!race->winner.has_value()) {
      race->winner = std::move(*socket);
    }
  }
  race->sockets.erase(socket);
  race->changed.Signal();
}

}  // namespace

asio::awaitable<absl::StatusOr<tcp::socket>> ConnectAny(TaskGroup& tasks, Timers& timers,
                                                        std::vector<tcp::endpoint> endpoints,
                                                        absl::Duration delay) {
  using asio::experimental::awaitable_operators::operator||;
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto race = std::make_shared<Race>(tasks.executor());
  if (endpoints.size() == 1) {
    // No race.
    co_await Attempt(race, race->sockets.emplace(race->sockets.end(), tasks.executor()),
                     endpoints.front());
  }
  const absl::Cleanup give_up_others = [&race] {
    race->over = true;
    boost::system::error_code ignored;
    for (tcp::socket& socket : race->sockets) socket.close(ignored);
  };
  size_t started = endpoints.size() == 1 ? 1 : 0;
  SteadyTime next = timers.Now();
  while (!race->winner.has_value() && race->failures.size() < endpoints.size()) {
    const bool all_failed = race->failures.size() == started;
    if (started < endpoints.size() && (all_failed || timers.Now() >= next)) {
      const auto socket = race->sockets.emplace(race->sockets.end(), tasks.executor());
      tasks.Spawn("connect", Attempt(race, socket, endpoints[started]));
      ++started;
      next = Add(timers.Now(), delay);
      continue;
    }
    const SteadyTime until = started < endpoints.size() ? next : SteadyTime::max();
    const std::variant<bool, std::monostate> woken =
        co_await (race->changed.Wait() || timers.WaitUntil(until));
    const bool cancelled = woken.index() == 0 ? !std::get<0>(woken) : timers.Now() < until;
    if (cancelled) co_return absl::CancelledError("connecting was cancelled");
  }
  if (race->winner.has_value()) co_return *std::move(race->winner);
  co_return absl::UnavailableError(absl::StrJoin(race->failures, "; "));
}

}  // namespace autobatch
