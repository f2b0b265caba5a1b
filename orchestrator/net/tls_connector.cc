#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/net/connect_any.h"
#include "orchestrator/net/listen_socket.h"
#include "orchestrator/net/net_status.h"
#include "orchestrator/net/resolver.h"
#include "orchestrator/net/tls_connection.h"
#include "orchestrator/net/tls_context.h"
#include "orchestrator/net/tls_transport.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using MadeConnection = absl::StatusOr<std::unique_ptr<Connection>>;

struct ConnectorState {
  TaskGroup& tasks;
  Timers& timers;
  std::shared_ptr<TlsContext> context;
  std::shared_ptr<Resolver> resolver;
  TlsConnectOptions options;
};
using Self = std::shared_ptr<const ConnectorState>;

// Resolve, connect, handshake. No deadline of its own.
asio::awaitable<MadeConnection> ConnectTo(Self self, HostPort address) {
  co_await asio::this_coro::throw_if_cancelled(false);
  absl::StatusOr<Resolver::Endpoints> endpoints = co_await self->resolver->Resolve(address);
  if (!endpoints.ok()) co_return std::move(endpoints).status();
  absl::StatusOr<tcp::socket> socket = co_await ConnectAny(
      self->tasks, self->timers, *std::move(endpoints), self->options.attempt_delay);
  if (!socket.ok()) co_return std::move(socket).status();

  boost::system::error_code ignored;
  socket->set_option(tcp::no_delay(true), ignored);
  const std::string peer = PeerText(*socket);
  std::unique_ptr<TlsStream> stream = self->context->MakeStream(*std::move(socket), address.host);
  if (self->options.speaks_first) stream->HoldBack();
  const absl::Status status = NetStatus(co_await stream->Handshake(), "handshake");
  if (!status.ok()) {
    co_return absl::Status(status.code(), absl::StrCat(peer, ": ", status.message()));
  }
  absl::StatusOr<std::string> identity = self->context->PeerIdentity(*stream);
  self->context->ForgetKey(*stream);
  if (!identity.ok()) co_return std::move(identity).status();
  std::unique_ptr<Connection> connection =
      MakeTlsConnection(self->tasks, self->timers, self->context, std::move(stream),
                        Peer{peer, *std::move(identity)}, self->options.stream, SteadyTime::max());
  // The coordinator has proved itself, and its records are large.
  connection->Admit();
  co_return connection;
}

asio::awaitable<MadeConnection> ConnectToFirst(Self self, std::vector<HostPort> addresses,
                                               SteadyTime deadline) {
  co_await asio::this_coro::throw_if_cancelled(false);
  std::vector<std::string> failures;
  bool late = false;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const SteadyTime now = self->timers.Now();
    // Each host gets its share of the time that is left.
    const SteadyTime share = now + (deadline - now) / static_cast<int64_t>(addresses.size() - i);
    MadeConnection made = co_await WithDeadline(self->timers, share, addresses[i].ToString(),
                                                ConnectTo(self, addresses[i]));
    if (made.ok() || absl::IsPermissionDenied(made.status()) || absl::IsCancelled(made.status())) {
      co_return made;
    }
    late = absl::IsDeadlineExceeded(made.status());
    failures.emplace_back(made.status().message());
  }
  if (failures.empty()) co_return absl::InvalidArgumentError("there is no address to connect to");
  const std::string text = absl::StrJoin(failures, "; ");
  co_return late ? absl::DeadlineExceededError(text) : absl::UnavailableError(text);
}

class TlsConnector final : public Connector {
 public:
  explicit TlsConnector(Self state) : state_(std::move(state)) {}

  asio::awaitable<MadeConnection> Connect(std::vector<HostPort> addresses,
                                          SteadyTime deadline) override {
    return ConnectToFirst(state_, std::move(addresses), deadline);
  }

 private:
  Self state_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Connector>> MakeTlsConnector(TaskGroup& tasks, Timers& timers,
                                                            const Credentials& credentials,
                                                            TlsConnectOptions options) {
  AB_ASSIGN_OR_RETURN(std::shared_ptr<TlsContext> context,
                      TlsContext::ForClient(credentials, options.role));
  std::shared_ptr<Resolver> resolver =
      options.resolver != nullptr ? options.resolver : Resolver::System(tasks.executor());
  return std::make_unique<TlsConnector>(std::make_shared<ConnectorState>(
      ConnectorState{tasks, timers, std::move(context), std::move(resolver), std::move(options)}));
}

}  // namespace autobatch
