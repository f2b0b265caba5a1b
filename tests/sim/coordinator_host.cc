#include "tests/sim/coordinator_host.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "orchestrator/net/stream_limits.h"

namespace autobatch::sim {

CoordinatorHost::CoordinatorHost(Parts parts, CoordinatorConfig config, RecordMaker make_record,
                                 Sabotage sabotage)
    : parts_(std::move(parts)),
      config_(std::move(config)),
      make_record_(std::move(make_record)),
      sabotage_(sabotage) {}

void CoordinatorHost::Start() {
  process_ = std::make_shared<Process>(parts_.time);
  finished_.reset();
  alarm_.Reset();
  peers_.clear();
  parts_.log("coordinator", "starts");
  core_ = std::make_unique<CoordinatorCore>(config_, disk_, make_record_, parts_.time.Now());
  parts_.network.accept = [this](const std::shared_ptr<Endpoint>& end) { Accept(end); };
  Handle(coordinator::Woke{});
}

void CoordinatorHost::Kill() {
  if (!running()) return;
  parts_.log("coordinator", "is killed");
  process_->Kill();
  parts_.network.accept = nullptr;
  for (auto& [id, peer] : peers_) peer.end->Cut();
  peers_.clear();
}

void CoordinatorHost::Drain() {
  process_->Post([this] { Handle(coordinator::Drain{"SIGTERM"}); });
}

void CoordinatorHost::Accept(const std::shared_ptr<Endpoint>& end) {
  const ConnectionId id = next_connection_++;
  const std::shared_ptr<Process> process = process_;
  end->on_bytes = [this, process, id](absl::string_view bytes) {
    process->Post([this, id, copy = std::string(bytes)] {
      const auto peer = peers_.find(id);
      if (peer == peers_.end()) return;
      peer->second.end->Took(copy.size());
      // What is handled may close the connection that it came from.
      std::vector<absl::StatusOr<Message>> messages;
      peer->second.stream.Feed(
          copy, [&](absl::StatusOr<Message> message) { messages.push_back(std::move(message)); });
      for (absl::StatusOr<Message>& message : messages) {
        if (!peers_.contains(id)) break;
        Handle(coordinator::Received{id, Received(std::move(message))});
      }
    });
  };
  end->on_closed = [this, process, id](const std::string& why) {
    process->Post([this, id, why] {
      if (peers_.erase(id) > 0) Handle(coordinator::Disconnected{id, why});
    });
  };
  process->Post([this, id, end] {
    peers_[id].end = end;
    Handle(coordinator::Connected{id, absl::StrCat("10.0.0.", id % 250, ":", 40000 + id % 9999)});
  });
}

absl::StatusOr<Message> CoordinatorHost::Received(absl::StatusOr<Message> message) const {
  if (sabotage_ != Sabotage::kFencing || !message.ok() || !disk_.has_value()) return message;
  std::visit([this](auto& body) { body.round = std::max(body.round, disk_->round); }, *message);
  return message;
}

void CoordinatorHost::Handle(const CoordinatorEvent& event) {
  if (core_ == nullptr || !running() || finished_.has_value()) return;
  const std::shared_ptr<Process> process = process_;
  for (CoordinatorAction& action : core_->Handle(event, parts_.time.Now())) {
    if (process->dead()) return;
    std::visit([this](auto& body) { Do(std::move(body)); }, action);
  }
  if (process->dead() || finished_.has_value()) return;
  alarm_.Set(*process, core_->NextWake(), [this] { Handle(coordinator::Woke{}); });
}

void CoordinatorHost::Do(const coordinator::Send& action) {
  if (on_send) on_send(action);
  const auto peer = peers_.find(action.connection);
  if (!running() || peer == peers_.end()) return;
  peer->second.end->Send(*action.frame);
  WatchReader(action.connection);
}

void CoordinatorHost::WatchReader(ConnectionId id) {
  const auto peer = peers_.find(id);
  if (peer == peers_.end() || peer->second.watched) return;
  const Endpoint& end = *peer->second.end;
  if (end.unread() <= parts_.network.window) return;
  peer->second.watched = true;
  process_->PostAfter(StreamLimits().send_timeout, [this, id, read = end.read()] {
    const auto watched = peers_.find(id);
    if (watched == peers_.end()) return;
    watched->second.watched = false;
    if (watched->second.end->read() != read) return WatchReader(id);
    watched->second.end->Cut();
    peers_.erase(watched);
    Handle(coordinator::Disconnected{.connection = id, .why = "sending: not done in time"});
  });
}

void CoordinatorHost::Do(const coordinator::Close& action) {
  const auto peer = peers_.find(action.connection);
  if (peer == peers_.end()) return;
  peer->second.end->Close();
  peers_.erase(peer);
}

void CoordinatorHost::Do(const coordinator::Persist& action) {
  const absl::Duration takes =
      PickDuration(parts_.random, absl::Microseconds(200), absl::Milliseconds(30));
  disk_free_ = Add(std::max(disk_free_, parts_.time.Now()), takes);
  // A rename takes place or it does not, whether or not its program lives to hear of it: a killed
  // program's write, once begun, is either.
  const std::shared_ptr<Process> process = process_;
  parts_.time.At(disk_free_, [this, process, action] {
    if (process->dead() && Chance(parts_.random, 50)) return;
    if (process != process_ && running()) return;
    if (disk_status_.ok()) {
      disk_ = action.state;
      parts_.ledger.OnDisk(action.state);
    }
    process->Post([this, action, status = disk_status_] {
      Handle(coordinator::Persisted{action.sequence, status});
    });
  });
}

void CoordinatorHost::Do(const coordinator::Say& action) { parts_.log("coordinator", action.text); }

void CoordinatorHost::Do(const coordinator::RoundEnded& action) {
  parts_.log("coordinator",
             absl::StrCat("round ", action.round,
                          action.committed ? " is committed" : " has failed: ", action.reason));
  parts_.ledger.OnRoundEnded(action);
  last_round_ = action;
}

void CoordinatorHost::Do(const coordinator::CommitConfirmed& action) { confirmed_ = action; }

void CoordinatorHost::Do(const coordinator::Finished& action) {
  parts_.log("coordinator", absl::StrCat("ends with ", action.exit_code, ": ", action.text));
  finished_ = action;
  parts_.network.accept = nullptr;
  for (auto& [id, peer] : peers_) peer.end->Close();
  peers_.clear();
  process_->Kill();
}

}  // namespace autobatch::sim
