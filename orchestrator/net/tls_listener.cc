#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/log.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/net/event.h"
#include "orchestrator/net/handshake_gate.h"
#include "orchestrator/net/listen_socket.h"
#include "orchestrator/net/net_status.h"
#include "orchestrator/net/refusal_log.h"
#include "orchestrator/net/tls_connection.h"
#include "orchestrator/net/tls_context.h"
#include "orchestrator/net/tls_transport.h"
#include "orchestrator/net/wake_timer.h"
#include "orchestrator/wire/foreign_protocol.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
constexpr auto kCompletion = asio::as_tuple(asio::use_awaitable);

// Waits after an accept that failed for want of descriptors or memory.
constexpr absl::Duration kFirstPause = absl::Milliseconds(10);
constexpr absl::Duration kLongestPause = absl::Seconds(1);
// How long, and how much, a refused peer is read after it was told, so that a reset does not
// overtake the telling.
constexpr absl::Duration kLinger = absl::Seconds(1);
constexpr size_t kLingerBytes = size_t{64} << 10;

// A TLS connection opens with a handshake record.
constexpr char kTlsHandshake = 0x16;

class ListenerState : public std::enable_shared_from_this<ListenerState> {
 public:
  using Self = std::shared_ptr<ListenerState>;

  ListenerState(TaskGroup& tasks, Timers& timers, std::shared_ptr<TlsContext> context,
                tcp::acceptor acceptor, TlsListenOptions options)
      : tasks_(tasks),
        timers_(timers),
        context_(std::move(context)),
        acceptor_(std::move(acceptor)),
        options_(std::move(options)),
        gate_(options_.handshakes, options_.patience),
        refusals_(options_.log ? options_.log : LogWarning),
        address_(AddressOf(acceptor_)),
        arrived_(tasks.executor()),
        left_(tasks.executor()),
        overdue_(tasks, timers, [this] { EndOverdue(); }) {}

  const HostPort& address() const { return address_; }

  // Until somebody asks for peers they wait in the backlog.
  void Start() {
    if (!std::exchange(started_, true)) tasks_.Spawn("accept", AcceptAll(shared_from_this()));
  }

  void Close() {
    closed_ = true;
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    for (auto& [ticket, handshake] : handshakes_) handshake.socket->close(ignored);
    ready_.clear();
    overdue_.Arm(std::nullopt);
    arrived_.Signal();
    left_.Signal();
  }

  static asio::awaitable<absl::StatusOr<std::unique_ptr<Connection>>> Accept(Self self);

 private:
  static asio::awaitable<void> AcceptAll(Self self);
  static asio::awaitable<void> MakeRoom(Self self);
  static asio::awaitable<void> Admit(Self self, tcp::socket socket, HandshakeGate::Ticket ticket);
  // A peer on its way in.
  struct Candidate {
    tcp::socket socket;
    HandshakeGate::Ticket ticket;
    // Once it speaks TLS, made of the socket.
    std::unique_ptr<TlsStream> stream;
    TlsContext::Refused refused{Refusal::kSilent, ""};

    bool is_open() const { return stream ? stream->socket().is_open() : socket.is_open(); }
  };
  static asio::awaitable<absl::StatusOr<std::string>> Opening(tcp::socket* socket);
  static asio::awaitable<absl::StatusOr<std::string>> Authenticate(Self self, Candidate* candidate);
  static asio::awaitable<absl::Status> Linger(Self self, tcp::socket* socket);
  void Leave(HandshakeGate::Ticket ticket);
  // Ends the handshakes whose time is up.
  void EndOverdue();

  struct Ready {
    HandshakeGate::Ticket ticket;
    std::unique_ptr<Connection> connection;
  };

  TaskGroup& tasks_;
  Timers& timers_;
  std::shared_ptr<TlsContext> context_;
  tcp::acceptor acceptor_;
  TlsListenOptions options_;
  HandshakeGate gate_;
  RefusalLog refusals_;
  const HostPort address_;
  bool started_ = false;
  bool closed_ = false;
  // The handshakes under way, the oldest first, so that they can be ended from outside.
  struct Handshake {
    tcp::socket* socket;
    SteadyTime deadline;
    bool late = false;
  };
  std::map<HandshakeGate::Ticket, Handshake> handshakes_;
  // Authenticated, and not yet asked for. They keep their places at the gate, which bounds them.
  std::deque<Ready> ready_;
  Event arrived_;
  Event left_;
  // One timer for all handshakes: a thousand agents come at once.
  WakeTimer overdue_;
};

void ListenerState::Leave(HandshakeGate::Ticket ticket) {
  gate_.Leave(ticket);
  left_.Signal();
}

// Waits until one more handshake may begin.
asio::awaitable<void> ListenerState::MakeRoom(Self self) {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (self->gate_.full() && !self->closed_ && !self->tasks_.cancelled()) {
    if (const auto victim = self->gate_.Victim(self->timers_.Now())) {
      self->gate_.Leave(*victim);
      // One that is authenticated already and waits for Accept() only loses its place.
      if (const auto place = self->handshakes_.find(*victim); place != self->handshakes_.end()) {
        boost::system::error_code ignored;
        place->second.socket->close(ignored);
      }
      continue;
    }
    using asio::experimental::awaitable_operators::operator||;
    co_await (self->left_.Wait() || self->timers_.WaitUntil(self->gate_.NextVictim()));
  }
}

asio::awaitable<void> ListenerState::AcceptAll(Self self) {
  co_await asio::this_coro::throw_if_cancelled(false);
  absl::Duration pause = kFirstPause;
  while (!self->closed_ && !self->tasks_.cancelled()) {
    co_await MakeRoom(self);
    if (self->closed_ || self->tasks_.cancelled()) break;
    auto [error, socket] = co_await self->acceptor_.async_accept(kCompletion);
    if (error == asio::error::operation_aborted || !self->acceptor_.is_open()) break;
    if (error == asio::error::connection_aborted) continue;
    if (error) {
      // No descriptors or no memory: the peers wait in the backlog meanwhile.
      if (pause == kFirstPause) {
        LogWarning(absl::StrCat("cannot accept connections for now: ", error.message()));
      }
      co_await self->timers_.WaitUntil(Add(self->timers_.Now(), pause));
      pause = std::min(2 * pause, kLongestPause);
      continue;
    }
    if (pause != kFirstPause) LogWarning("connections are accepted again");
    pause = kFirstPause;
    const HandshakeGate::Ticket ticket = self->gate_.Enter(NetworkOf(socket), self->timers_.Now());
    self->tasks_.Spawn("handshake", Admit(self, std::move(socket), ticket));
  }
}

// What the first bytes look like, without taking them; empty: TLS, as it should be.
asio::awaitable<absl::StatusOr<std::string>> ListenerState::Opening(tcp::socket* socket) {
  co_await asio::this_coro::throw_if_cancelled(false);
  std::array<char, 16> bytes;
  const auto [error, size] =
      co_await socket->async_receive(asio::buffer(bytes), tcp::socket::message_peek, kCompletion);
  if (error) co_return NetStatus(error, "cannot receive");
  if (bytes[0] == kTlsHandshake) co_return "";
  co_return std::string(ForeignProtocol(absl::string_view(bytes.data(), size)));
}

void ListenerState::EndOverdue() {
  const SteadyTime now = timers_.Now();
  for (auto& [ticket, handshake] : handshakes_) {
    if (handshake.deadline > now) {
      overdue_.Arm(handshake.deadline);
      return;
    }
    if (std::exchange(handshake.late, true)) continue;
    boost::system::error_code ignored;
    handshake.socket->close(ignored);
  }
}

// Who it proves to be. One deadline is for all of it.
asio::awaitable<absl::StatusOr<std::string>> ListenerState::Authenticate(Self self,
                                                                         Candidate* candidate) {
  co_await asio::this_coro::throw_if_cancelled(false);
  absl::StatusOr<std::string> foreign = co_await Opening(&candidate->socket);
  if (!foreign.ok()) co_return foreign;
  if (!foreign->empty()) {
    candidate->refused = {Refusal::kForeign, *std::move(foreign)};
    co_return absl::InvalidArgumentError("this is no TLS");
  }
  boost::system::error_code ignored;
  candidate->socket.set_option(tcp::no_delay(true), ignored);
  candidate->stream = self->context_->MakeStream(std::move(candidate->socket));
  self->handshakes_.at(candidate->ticket).socket = &candidate->stream->socket();
  candidate->refused = {Refusal::kSlow, ""};
  if (const boost::system::error_code error = co_await candidate->stream->Handshake(); error) {
    candidate->refused = TlsContext::WhyRefused(*candidate->stream, error);
    co_return NetStatus(error, "handshake");
  }
  absl::StatusOr<std::string> identity = self->context_->PeerIdentity(*candidate->stream);
  self->context_->ForgetKey(*candidate->stream);
  co_return identity;
}

// Reads and forgets until the peer has closed.
asio::awaitable<absl::Status> ListenerState::Linger(Self self, tcp::socket* socket) {
  co_await asio::this_coro::throw_if_cancelled(false);
  boost::system::error_code ignored;
  socket->shutdown(tcp::socket::shutdown_send, ignored);
  std::array<char, 1024> bytes;
  for (size_t taken = 0; taken < kLingerBytes;) {
    const auto [error, size] = co_await socket->async_read_some(asio::buffer(bytes), kCompletion);
    if (error) break;
    taken += size;
  }
  co_return absl::OkStatus();
}

// From a bare TCP connection to one that Accept() may give out, or nothing and a line in the log.
asio::awaitable<void> ListenerState::Admit(Self self, tcp::socket socket,
                                           HandshakeGate::Ticket ticket) {
  co_await asio::this_coro::throw_if_cancelled(false);
  const SteadyTime deadline = Add(self->timers_.Now(), self->options_.handshake_timeout);
  const std::string peer = PeerText(socket);
  Candidate candidate{.socket = std::move(socket), .ticket = ticket};
  bool place_kept = false;
  self->handshakes_[ticket] = {.socket = &candidate.socket, .deadline = deadline};
  self->overdue_.Arm(self->handshakes_.begin()->second.deadline);
  const absl::Cleanup leave = [&self, &place_kept, ticket] {
    self->handshakes_.erase(ticket);
    if (!place_kept) self->Leave(ticket);
  };

  absl::StatusOr<std::string> identity = co_await Authenticate(self, &candidate);
  if (!identity.ok()) {
    const bool slow = self->handshakes_.at(ticket).late;
    const bool evicted = !slow && !candidate.is_open();
    if (!self->closed_ && !self->tasks_.cancelled()) {
      self->refusals_.Add(evicted ? Refusal::kCrowded
                          : slow  ? Refusal::kSlow
                                  : candidate.refused.kind,
                          peer, evicted || slow ? "" : candidate.refused.detail,
                          self->timers_.Now());
    }
    if (slow || evicted || candidate.stream == nullptr) co_return;
    (void)co_await WithDeadline(self->timers_,
                                std::min(deadline, Add(self->timers_.Now(), kLinger)), "lingering",
                                Linger(self, &candidate.stream->socket()));
    co_return;
  }
  if (self->closed_) co_return;
  place_kept = true;
  self->ready_.push_back(
      {ticket,
       MakeTlsConnection(self->tasks_, self->timers_, self->context_, std::move(candidate.stream),
                         Peer{peer, *std::move(identity)}, self->options_.stream, deadline)});
  self->arrived_.Signal();
}

asio::awaitable<absl::StatusOr<std::unique_ptr<Connection>>> ListenerState::Accept(Self self) {
  co_await asio::this_coro::throw_if_cancelled(false);
  self->Start();
  while (self->ready_.empty()) {
    if (self->closed_ || self->tasks_.cancelled()) {
      co_return absl::CancelledError("the listener was closed");
    }
    if (!co_await self->arrived_.Wait()) {
      co_return absl::CancelledError("waiting for peers was cancelled");
    }
  }
  Ready ready = std::move(self->ready_.front());
  self->ready_.pop_front();
  self->Leave(ready.ticket);
  co_return std::move(ready.connection);
}

class TlsListener final : public Listener {
 public:
  explicit TlsListener(std::shared_ptr<ListenerState> state) : state_(std::move(state)) {}
  ~TlsListener() override { state_->Close(); }

  asio::awaitable<absl::StatusOr<std::unique_ptr<Connection>>> Accept() override {
    return ListenerState::Accept(state_);
  }
  const HostPort& address() const override { return state_->address(); }
  void Close() override { state_->Close(); }

 private:
  std::shared_ptr<ListenerState> state_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> ListenTls(TaskGroup& tasks, Timers& timers,
                                                    const Credentials& credentials,
                                                    TlsListenOptions options) {
  AB_ASSIGN_OR_RETURN(std::shared_ptr<TlsContext> context, TlsContext::ForServer(credentials));
  AB_ASSIGN_OR_RETURN(tcp::acceptor acceptor,
                      OpenListenSocket(tasks.executor(), options.bind_address, options.ports));
  auto state = std::make_shared<ListenerState>(tasks, timers, std::move(context),
                                               std::move(acceptor), std::move(options));
  return std::make_unique<TlsListener>(std::move(state));
}

}  // namespace autobatch
