#include "orchestrator/service/coordinator_service.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/base/clock.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/json.h"
#include "orchestrator/wire/messages.h"

namespace autobatch {

namespace asio = boost::asio;

absl::StatusOr<std::optional<CoordinatorState>> LoadState(const SealedFile& file,
                                                          absl::string_view run_id) {
  const absl::StatusOr<std::string> text = file.Read();
  if (absl::IsNotFound(text.status())) return std::nullopt;
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat(text.status().message(),
                                     "; which rounds were used is not known any more: start a run "
                                     "of another name, with a state of its own"));
  }
  absl::StatusOr<CoordinatorState> state = ReadState(*text, run_id);
  if (!state.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(file.path(), ": ", state.status().message(),
                                                      "; give this run a folder of its own"));
  }
  return *std::move(state);
}

namespace {

// Two small frames to one peer leave as one, as a welcome and the first question do: it wakes up
// once.
bool JoinSends(const CoordinatorAction& first, CoordinatorAction& second) {
  constexpr size_t kSmall = 4096;
  const auto* const a = std::get_if<coordinator::Send>(&first);
  auto* const b = std::get_if<coordinator::Send>(&second);
  if (a == nullptr || b == nullptr || a->connection != b->connection ||
      a->frame->size() + b->frame->size() > kSmall) {
    return false;
  }
  b->frame = std::make_shared<const std::string>(*a->frame + *b->frame);
  return true;
}

}  // namespace

// One connection. The core knows it from Connected to Close or Disconnected; its reader may live a
// little longer.
struct CoordinatorService::Peer {
  ConnectionId id = 0;
  std::unique_ptr<Connection> connection;
  bool greeted = false;
};

CoordinatorService::CoordinatorService(CoordinatorServiceOptions options,
                                       std::optional<CoordinatorState> restored,
                                       asio::any_io_executor executor, Timers& timers,
                                       Listener& listener, asio::any_io_executor pool)
    : options_(std::move(options)),
      tasks_(std::move(executor)),
      timers_(timers),
      listener_(listener),
      files_(tasks_.executor(), std::move(pool)),
      core_(options_.config, std::move(restored), options_.make_record, timers.Now()),
      wake_(tasks_, timers, [this] { Handle(coordinator::Woke{}); }),
      changed_(tasks_.executor()) {}

asio::awaitable<ServiceOutcome> CoordinatorService::Run() {
  // What can be done before anybody comes.
  Handle(coordinator::Woke{});
  co_await files_.Join();
  tasks_.Spawn("accept", AcceptAll());
  while (!outcome_.has_value() || dismissing_ > 0) {
    changed_.expires_at(SteadyTime::max());
    co_await changed_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  listener_.Close();
  for (const auto& [id, peer] : peers_) {
    peer->connection->Close(absl::CancelledError("the coordinator has ended"));
  }
  peers_.clear();
  tasks_.Cancel();
  co_await tasks_.Join();
  co_await files_.Join();
  co_return *outcome_;
}

void CoordinatorService::Drain(std::string reason, int exit_code) {
  Handle(coordinator::Drain{.reason = std::move(reason), .exit_code = exit_code});
}

void CoordinatorService::Handle(CoordinatorEvent event) {
  events_.push_back(std::move(event));
  if (handling_) return;
  handling_ = true;
  while (!events_.empty() && !outcome_.has_value()) {
    const CoordinatorEvent next = std::move(events_.front());
    events_.pop_front();
    std::vector<CoordinatorAction> actions = core_.Handle(next, timers_.Now());
    for (auto action = actions.begin(); action != actions.end(); ++action) {
      if (action + 1 != actions.end() && JoinSends(*action, *(action + 1))) continue;
      std::visit([this](auto& wish) { Do(wish); }, *action);
    }
  }
  handling_ = false;
  wake_.Arm(outcome_.has_value() ? std::nullopt : core_.NextWake());
}

void CoordinatorService::Do(coordinator::Send& send) {
  const auto peer = peers_.find(send.connection);
  // Where it fails the connection is closed, and its reader says so.
  if (peer != peers_.end()) peer->second->connection->Send(std::move(send.frame)).IgnoreError();
}

void CoordinatorService::Do(coordinator::Close& close) {
  const auto peer = peers_.find(close.connection);
  if (peer == peers_.end()) return;
  ++dismissing_;
  tasks_.Spawn("dismiss", Dismiss(peer->second));
  peers_.erase(peer);
}

asio::awaitable<void> CoordinatorService::Dismiss(std::shared_ptr<Peer> peer) {
  // What it cannot be told in time it need not know.
  (co_await peer->connection->Finish(Add(timers_.Now(), options_.goodbye))).IgnoreError();
  --dismissing_;
  changed_.expires_at(SteadyTime::min());
}

void CoordinatorService::Do(coordinator::Persist& persist) {
  files_.Run([file = options_.state, text = ToJson(persist.state)] { return file.Write(text); },
             [this, sequence = persist.sequence](absl::Status status) {
               Handle(coordinator::Persisted{.sequence = sequence, .status = std::move(status)});
             });
}

void CoordinatorService::Do(coordinator::Foresee& foresee) {
  // Where it fails, so does the write that it was for, or that does it all.
  files_.Run([file = options_.state, text = ToJson(foresee.state)] { return file.Foresee(text); },
             [](const absl::Status&) {});
}

void CoordinatorService::Do(coordinator::Say& say) {
  if (options_.hooks.say) options_.hooks.say(say.text);
}

void CoordinatorService::Do(coordinator::RoundEnded& ended) {
  if (options_.hooks.round_ended) options_.hooks.round_ended(ended);
}

void CoordinatorService::Do(coordinator::CommitConfirmed& confirmed) {
  if (options_.hooks.commit_confirmed) options_.hooks.commit_confirmed(confirmed);
}

void CoordinatorService::Do(coordinator::Finished& finished) {
  outcome_ = {.exit_code = finished.exit_code, .text = std::move(finished.text)};
  changed_.expires_at(SteadyTime::min());
}

asio::awaitable<void> CoordinatorService::AcceptAll() {
  // Until the listener is closed, or this task is cancelled.
  while (true) {
    absl::StatusOr<std::unique_ptr<Connection>> connection = co_await listener_.Accept();
    if (!connection.ok()) co_return;
    auto peer = std::make_shared<Peer>(++last_connection_, *std::move(connection));
    peers_.emplace(peer->id, peer);
    Handle(coordinator::Connected{.connection = peer->id,
                                  .address = peer->connection->peer().address});
    tasks_.Spawn("read", ReadAll(std::move(peer)));
  }
}

asio::awaitable<void> CoordinatorService::ReadAll(std::shared_ptr<Peer> peer) {
  while (Take(*peer, co_await peer->connection->Receive())) {
  }
}

// Apart from the coroutine, so that what it needs for a moment does not stay in memory as long as
// the connection. False: nothing more is read.
bool CoordinatorService::Take(Peer& peer, const absl::StatusOr<Frame>& frame) {
  if (!frame.ok()) {
    peers_.erase(peer.id);
    Handle(coordinator::Disconnected{.connection = peer.id,
                                     .why = std::string(frame.status().message()),
                                     .broke_protocol = absl::IsInvalidArgument(frame.status()) ||
                                                       absl::IsResourceExhausted(frame.status())});
    return false;
  }
  absl::StatusOr<Message> message = DecodeMessage(*frame);
  const bool hello = message.ok() && std::holds_alternative<AgentHello>(*message);
  Handle(coordinator::Received{.connection = peer.id, .message = std::move(message)});
  // A hello is answered at once, and whoever is refused is sent away.
  if (hello && !peer.greeted && peers_.contains(peer.id)) {
    peer.greeted = true;
    peer.connection->Admit();
  }
  return true;
}

}  // namespace autobatch
