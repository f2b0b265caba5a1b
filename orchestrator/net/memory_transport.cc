#include "orchestrator/net/memory_transport.h"

#include <boost/asio/this_coro.hpp>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "orchestrator/net/event.h"
#include "orchestrator/net/send_queue.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;

// As the default of the real listener.
constexpr absl::Duration kHandshakeTimeout = absl::Seconds(10);

// One direction of a link: what was sent and not yet received.
struct Pipe {
  explicit Pipe(const asio::any_io_executor& executor) : queue(StreamLimits()), changed(executor) {}

  SendQueue queue;
  // Why nothing follows what is queued: set by the sender.
  absl::Status end;
  Event changed;
};

struct Link {
  explicit Link(const asio::any_io_executor& executor)
      : to_listener(executor), to_caller(executor) {}

  Pipe to_listener;
  Pipe to_caller;
  // The cable was pulled while the link was up: nothing passes it any more.
  bool dead = false;
};

// One end of a link.
class End : public std::enable_shared_from_this<End> {
 public:
  using Self = std::shared_ptr<End>;

  End(Timers& timers, std::shared_ptr<Link> link, Pipe Link::* in, Pipe Link::* out, Peer peer,
      std::optional<SteadyTime> first_frame)
      : timers_(timers),
        link_(std::move(link)),
        in_(link_.get()->*in),
        out_(link_.get()->*out),
        peer_(std::move(peer)),
        first_frame_(first_frame) {}

  const Peer& peer() const { return peer_; }

  void Admit() {
    decoder_.set_payload_limit(kMemberPayloadLimit);
    first_frame_.reset();
  }

  absl::Status Send(SharedBytes frame) {
    if (!closed_.ok()) return closed_;
    if (!out_.end.ok()) return absl::CancelledError("the connection is closing");
    if (link_->dead) return absl::OkStatus();
    if (absl::Status pushed = out_.queue.Push(std::move(frame)); !pushed.ok()) {
      Close(pushed);
      return pushed;
    }
    out_.changed.Signal();
    return absl::OkStatus();
  }

  void Close(absl::Status why) {
    if (!closed_.ok()) return;
    closed_ =
        why.ok() ? absl::CancelledError("the connection was closed on this side") : std::move(why);
    EndStream(absl::DataLossError("cannot receive: the stream was cut short"));
    in_.changed.Signal();
  }

  static asio::awaitable<absl::StatusOr<Frame>> Receive(Self self);
  static asio::awaitable<absl::Status> Finish(Self self, SteadyTime deadline);

 private:
  static asio::awaitable<absl::Status> AwaitBytes(Self self);
  static asio::awaitable<absl::Status> AwaitRead(Self self);

  void EndStream(absl::Status how) {
    if (out_.end.ok() && !link_->dead) out_.end = std::move(how);
    out_.changed.Signal();
  }

  Timers& timers_;
  std::shared_ptr<Link> link_;
  Pipe& in_;
  Pipe& out_;
  Peer peer_;
  std::optional<SteadyTime> first_frame_;
  absl::Status closed_;
  FrameDecoder decoder_;
  // What was taken off the queue last, and what of it was not read yet.
  SharedBytes bytes_;
  absl::string_view rest_;
};

asio::awaitable<absl::Status> End::AwaitBytes(Self self) {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (self->in_.queue.empty()) {
    if (!self->closed_.ok()) co_return self->closed_;
    if (!self->in_.end.ok()) co_return self->in_.end;
    if (!co_await self->in_.changed.Wait()) {
      co_return absl::CancelledError("cannot receive: cancelled");
    }
  }
  co_return self->closed_;
}

asio::awaitable<absl::StatusOr<Frame>> End::Receive(Self self) {
  co_await asio::this_coro::throw_if_cancelled(false);
  absl::Status status = self->closed_;
  if (status.ok() && self->rest_.empty()) {
    status = co_await WithDeadline(self->timers_, self->first_frame_.value_or(SteadyTime::max()),
                                   "the peer's first message", AwaitBytes(self));
    if (status.ok()) {
      self->bytes_ = self->in_.queue.Pop();
      self->rest_ = *self->bytes_;
      self->in_.changed.Signal();
    }
  }
  if (status.ok()) {
    absl::StatusOr<std::optional<Frame>> frame = self->decoder_.Next(self->rest_);
    if (frame.ok() && frame->has_value()) co_return **std::move(frame);
    status = frame.ok() ? absl::InvalidArgumentError("what was sent ends within a frame")
                        : std::move(frame).status();
  }
  self->Close(status);
  co_return self->closed_;
}

asio::awaitable<absl::Status> End::AwaitRead(Self self) {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (!self->out_.queue.empty() && self->closed_.ok()) {
    if (!co_await self->out_.changed.Wait()) {
      co_return absl::CancelledError("finishing was cancelled");
    }
  }
  co_return self->closed_;
}

asio::awaitable<absl::Status> End::Finish(Self self, SteadyTime deadline) {
  co_await asio::this_coro::throw_if_cancelled(false);
  self->EndStream(absl::OutOfRangeError("cannot receive: the peer closed the connection"));
  absl::Status status = co_await WithDeadline(
      self->timers_, deadline, absl::StrCat("saying good-bye to ", self->peer_.address),
      AwaitRead(self));
  self->Close(status);
  co_return status;
}

class MemoryConnection final : public Connection {
 public:
  explicit MemoryConnection(std::shared_ptr<End> end) : end_(std::move(end)) {}
  ~MemoryConnection() override { end_->Close(absl::OkStatus()); }

  const Peer& peer() const override { return end_->peer(); }
  absl::Status Send(SharedBytes frame) override { return end_->Send(std::move(frame)); }
  asio::awaitable<absl::StatusOr<Frame>> Receive() override { return End::Receive(end_); }
  void Admit() override { end_->Admit(); }
  asio::awaitable<absl::Status> Finish(SteadyTime deadline) override {
    return End::Finish(end_, deadline);
  }
  void Close(absl::Status why) override { end_->Close(std::move(why)); }

 private:
  std::shared_ptr<End> end_;
};

// Where connections to one address wait for Accept().
struct Door {
  explicit Door(const asio::any_io_executor& executor) : changed(executor) {}

  std::deque<std::unique_ptr<Connection>> waiting;
  bool closed = false;
  Event changed;
};

}  // namespace

struct MemoryNetwork::State {
  State(TaskGroup& tasks, Timers& timers) : executor(tasks.executor()), timers(timers) {}

  asio::any_io_executor executor;
  Timers& timers;
  // By the text of the address.
  std::map<std::string, std::shared_ptr<Door>> doors;
  std::set<std::string> unplugged;
  std::multimap<std::string, std::weak_ptr<Link>> links;
  int calls = 0;
};

namespace {

using MadeConnection = absl::StatusOr<std::unique_ptr<Connection>>;

class MemoryListener final : public Listener {
 public:
  MemoryListener(std::shared_ptr<Door> door, HostPort address)
      : door_(std::move(door)), address_(std::move(address)) {}
  ~MemoryListener() override { Close(); }

  asio::awaitable<MadeConnection> Accept() override { return AcceptAt(door_); }
  const HostPort& address() const override { return address_; }

  void Close() override {
    door_->closed = true;
    door_->waiting.clear();
    door_->changed.Signal();
  }

 private:
  static asio::awaitable<MadeConnection> AcceptAt(std::shared_ptr<Door> door) {
    co_await asio::this_coro::throw_if_cancelled(false);
    while (door->waiting.empty()) {
      if (door->closed || !co_await door->changed.Wait()) {
        co_return absl::CancelledError("the listener was closed");
      }
    }
    std::unique_ptr<Connection> connection = std::move(door->waiting.front());
    door->waiting.pop_front();
    co_return connection;
  }

  std::shared_ptr<Door> door_;
  HostPort address_;
};

}  // namespace

MemoryNetwork::MemoryNetwork(TaskGroup& tasks, Timers& timers)
    : state_(std::make_shared<State>(tasks, timers)) {}

MemoryNetwork::~MemoryNetwork() = default;

absl::StatusOr<std::unique_ptr<Listener>> MemoryNetwork::Listen(HostPort address) {
  std::shared_ptr<Door>& door = state_->doors[address.ToString()];
  if (door != nullptr && !door->closed) {
    return absl::AlreadyExistsError(absl::StrCat(address.ToString(), " is in use"));
  }
  door = std::make_shared<Door>(state_->executor);
  return std::make_unique<MemoryListener>(door, std::move(address));
}

// Declared here for its access to State.
class MemoryNetwork::Caller final : public Connector {
 public:
  Caller(std::shared_ptr<State> state, std::string address, std::string identity)
      : state_(std::move(state)), address_(std::move(address)), identity_(std::move(identity)) {}

  asio::awaitable<MadeConnection> Connect(std::vector<HostPort> addresses,
                                          SteadyTime deadline) override {
    return Call(state_, Peer{address_, identity_}, std::move(addresses), deadline);
  }

 private:
  static asio::awaitable<MadeConnection> Call(std::shared_ptr<State> state, Peer caller,
                                              std::vector<HostPort> addresses,
                                              SteadyTime deadline) {
    co_await asio::this_coro::throw_if_cancelled(false);
    if (state->unplugged.contains(caller.address)) {
      co_await state->timers.WaitUntil(deadline);
      co_return absl::DeadlineExceededError("cannot reach anybody: not done in time");
    }
    for (const HostPort& address : addresses) {
      const auto door = state->doors.find(address.ToString());
      if (door == state->doors.end() || door->second->closed) continue;
      const auto link = std::make_shared<Link>(state->executor);
      state->links.emplace(caller.address, link);
      const Peer seen{absl::StrCat(caller.address, ":", ++state->calls), caller.identity};
      door->second->waiting.push_back(std::make_unique<MemoryConnection>(
          std::make_shared<End>(state->timers, link, &Link::to_listener, &Link::to_caller, seen,
                                Add(state->timers.Now(), kHandshakeTimeout))));
      door->second->changed.Signal();
      auto connection = std::make_unique<MemoryConnection>(
          std::make_shared<End>(state->timers, link, &Link::to_caller, &Link::to_listener,
                                Peer{address.ToString(), caller.identity}, std::nullopt));
      connection->Admit();
      co_return connection;
    }
    co_return absl::UnavailableError("cannot reach anybody: connection refused");
  }

  std::shared_ptr<State> state_;
  std::string address_;
  std::string identity_;
};

std::unique_ptr<Connector> MemoryNetwork::MakeConnector(std::string address, std::string identity) {
  return std::make_unique<Caller>(state_, std::move(address), std::move(identity));
}

void MemoryNetwork::Unplug(const std::string& address, bool unplugged) {
  if (!unplugged) {
    state_->unplugged.erase(address);
    return;
  }
  state_->unplugged.insert(address);
  const auto [first, last] = state_->links.equal_range(address);
  for (auto link = first; link != last; ++link) {
    if (const auto alive = link->second.lock()) {
      alive->dead = true;
      // What was under way is lost too.
      alive->to_listener.queue.Clear();
      alive->to_caller.queue.Clear();
    }
  }
  state_->links.erase(first, last);
}

}  // namespace autobatch
