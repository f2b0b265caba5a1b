#include "orchestrator/net/resolver.h"

#include <netdb.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <cerrno>
#include <cstring>
#include <deque>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/mutex.h"
#include "orchestrator/net/event.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

absl::StatusOr<Resolver::Endpoints> LookUp(const HostPort& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  // Not AI_ADDRCONFIG: glibc leaves ::1 out with it where there is no other IPv6 address.
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code =
      getaddrinfo(address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  if (code != 0) {
    const std::string text =
        absl::StrCat("cannot resolve '", address.host,
                     "': ", code == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(code));
    return code == EAI_NONAME || code == EAI_NODATA ? absl::NotFoundError(text)
                                                    : absl::UnavailableError(text);
  }
  const absl::Cleanup release = [found] { freeaddrinfo(found); };
  Resolver::Endpoints endpoints;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    tcp::endpoint endpoint;
    std::memcpy(endpoint.data(), one->ai_addr, one->ai_addrlen);
    endpoint.resize(one->ai_addrlen);
    endpoints.push_back(endpoint);
  }
  if (endpoints.empty()) {
    return absl::NotFoundError(absl::StrCat("'", address.host, "' has no address"));
  }
  return ByTurns(std::move(endpoints));
}

absl::StatusOr<Resolver::Endpoints> OfNumber(const asio::ip::address& number,
                                             const HostPort& address) {
  // An interface that is not here is read as none at all.
  if (number.is_v6() && number.to_v6().is_link_local() && number.to_v6().scope_id() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", address.host,
                     "' is the address of a link: it needs an interface of this host, such as ",
                     address.host.substr(0, address.host.find('%')), "%eth0"));
  }
  return Resolver::Endpoints{tcp::endpoint(number, address.port)};
}

class SystemResolver final : public Resolver {
 public:
  explicit SystemResolver(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  asio::awaitable<absl::StatusOr<Endpoints>> Resolve(HostPort address) override {
    return Ask(executor_, std::move(address));
  }

 private:
  static asio::awaitable<absl::StatusOr<Endpoints>> Ask(asio::any_io_executor executor,
                                                        HostPort address);

  asio::any_io_executor executor_;
};

asio::awaitable<absl::StatusOr<Resolver::Endpoints>> SystemResolver::Ask(
    asio::any_io_executor executor, HostPort address) {
  co_await asio::this_coro::throw_if_cancelled(false);
  boost::system::error_code no_number;
  const asio::ip::address number = asio::ip::make_address(address.host, no_number);
  if (!no_number) co_return OfNumber(number, address);

  // The coroutine owns what belongs to the executor; the thread only reaches it while the coroutine
  // has not gone away.
  struct Shared {
    Mutex mutex;
    Event* answered ABSL_GUARDED_BY(mutex) = nullptr;
    std::optional<absl::StatusOr<Endpoints>> answer ABSL_GUARDED_BY(mutex);
  };
  Event answered(executor);
  const auto shared = std::make_shared<Shared>();
  {
    MutexLock lock(shared->mutex);
    shared->answered = &answered;
  }
  const absl::Cleanup abandon = [&shared] {
    MutexLock lock(shared->mutex);
    shared->answered = nullptr;
  };
  try {
    std::thread([shared, executor, address] {
      absl::StatusOr<Endpoints> answer = LookUp(address);
      MutexLock lock(shared->mutex);
      shared->answer = std::move(answer);
      if (shared->answered == nullptr) return;
      asio::post(executor, [shared] {
        MutexLock lock(shared->mutex);
        if (shared->answered != nullptr) shared->answered->Signal();
      });
    }).detach();
  } catch (const std::system_error& error) {
    co_return absl::UnavailableError(
        absl::StrCat("cannot resolve '", address.host, "': no thread for it: ", error.what()));
  }
  while (true) {
    {
      MutexLock lock(shared->mutex);
      if (shared->answer.has_value()) co_return *std::move(shared->answer);
    }
    if (!co_await answered.Wait()) co_return absl::CancelledError("resolving was cancelled");
  }
}

}  // namespace

std::unique_ptr<Resolver> Resolver::System(asio::any_io_executor executor) {
  return std::make_unique<SystemResolver>(std::move(executor));
}

Resolver::Endpoints ByTurns(Resolver::Endpoints endpoints) {
  if (endpoints.empty()) return endpoints;
  const bool first_is_v6 = endpoints.front().address().is_v6();
  std::deque<tcp::endpoint> preferred;
  std::deque<tcp::endpoint> other;
  for (tcp::endpoint& endpoint : endpoints) {
    (endpoint.address().is_v6() == first_is_v6 ? preferred : other).push_back(endpoint);
  }
  Resolver::Endpoints result;
  while (!preferred.empty() || !other.empty()) {
    for (auto* queue : {&preferred, &other}) {
      if (queue->empty()) continue;
      result.push_back(queue->front());
      queue->pop_front();
    }
  }
  return result;
}

}  // namespace autobatch
