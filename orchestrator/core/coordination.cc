#include "orchestrator/core/coordination.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/counted.h"
#include "orchestrator/core/exit_codes.h"
#include "orchestrator/core/outgoing.h"

namespace autobatch {
namespace {

// Beats between two lines about what is waited for.
constexpr int64_t kBeatsOfProgress = 5;
// Names in such a line.
constexpr size_t kNamed = 16;

}  // namespace

Coordination::Coordination(CoordinatorConfig config, std::optional<CoordinatorState> restored,
                           RecordMaker make_record, SteadyTime now)
    : config_(std::move(config)),
      make_record_(std::move(make_record)),
      now_(now),
      members_(config_.run_id, config_.max_members, config_.reduce == ReduceMode::kRequire),
      metronome_(config_.heartbeat, now),
      misconduct_(static_cast<size_t>(config_.max_members)),
      fence_(now) {
  state_.run_id = config_.run_id;
  deadline_ = Add(now, config_.join_timeout);
  if (!restored.has_value()) return;
  state_ = *std::move(restored);
  fence_ = Add(now, Lease());
  option_changes_ = ChangesSince(state_, config_);
  if (!option_changes_.words.empty()) {
    Say(absl::StrCat("other options than those of round ", state_.committed_round, ": ",
                     absl::StrJoin(option_changes_.words, "; ")));
  }
  if (state_.round == 0 || state_.committed_round != state_.round || config_.once) return;
  // The last round stands; its members have a while to come back.
  phase_ = Phase::kCommitted;
  confirming_ = true;
  for (const StateMember& member : state_.members) {
    members_.Restore(member);
    AddToRound(*members_.Named(member.agent));
  }
  outstanding_ = static_cast<int64_t>(state_.members.size());
  deadline_ = Add(now, config_.heartbeat * config_.lost_after + config_.commit_timeout);
}

std::vector<CoordinatorAction> Coordination::Handle(const CoordinatorEvent& event, SteadyTime now) {
  now_ = now;
  std::visit([this](const auto& e) { On(e); }, event);
  const auto late = [this] {
    return (deadline_.has_value() && now_ >= *deadline_) ||
           (last_call_.has_value() && now_ >= *last_call_);
  };
  while (phase_ != Phase::kOver && (changed_ || late())) Advance();
  return std::exchange(actions_, {});
}

std::optional<SteadyTime> Coordination::NextWake() const {
  if (phase_ == Phase::kOver) return std::nullopt;
  SteadyTime next = metronome_.next();
  if (deadline_.has_value()) next = std::min(next, *deadline_);
  if (last_call_.has_value()) next = std::min(next, *last_call_);
  return next;
}

void Coordination::On(const coordinator::Connected& event) {
  if (phase_ == Phase::kOver || static_cast<int64_t>(strangers_.size()) >= config_.max_members) {
    actions_.push_back(coordinator::Close{event.connection, "no place for another connection"});
    return;
  }
  strangers_[event.connection] = event.address;
}

void Coordination::On(const coordinator::Received& event) {
  Member* const member = members_.OfConnection(event.connection);
  if (member == nullptr && !strangers_.contains(event.connection)) return;  // closed before
  if (!event.message.ok()) {
    Refuse refuse = RefusalOf(event.message.status());
    Say(absl::StrCat("refused a message of ",
                     member != nullptr ? member->agent : strangers_.at(event.connection), ": ",
                     refuse.reason));
    if (member == nullptr) {
      Reject(event.connection, std::move(refuse));
      return;
    }
    const bool closing = refuse.closing;
    SendTo(*member, std::move(refuse));
    if (!closing) return;
    actions_.push_back(coordinator::Close{event.connection, "it broke the protocol"});
    OnBreach(*member);
    return;
  }
  const Message& message = *event.message;
  if (member == nullptr) {
    const AgentHello* const hello = std::get_if<AgentHello>(&message);
    if (hello != nullptr) {
      OnHello(event.connection, *hello);
    } else {
      Reject(event.connection,
             Refuse{.code = RefuseCode::kUnexpected,
                    .reason = absl::StrCat(MessageName(message), " before hello")});
    }
    return;
  }
  if (RunIdOf(message) != config_.run_id) {
    SendTo(*member, Refuse{.code = RefuseCode::kRunId,
                           .reason = absl::StrCat("this is run ", config_.run_id)});
    return;
  }
  std::visit([&](const auto& m) { OnMessage(*member, m); }, message);
}

void Coordination::On(const coordinator::Disconnected& event) {
  if (const auto stranger = strangers_.extract(event.connection); !stranger.empty()) {
    Say(absl::StrCat(stranger.mapped(), " left before its hello: ", event.why));
    return;
  }
  Member* const member = members_.OfConnection(event.connection);
  if (member == nullptr) return;
  Say(absl::StrCat("the connection of ", member->agent, " broke: ", event.why));
  if (event.broke_protocol) {
    OnBreach(*member);
  } else {
    members_.Detach(*member);
  }
}

void Coordination::OnBreach(Member& member) {
  members_.Detach(member);
  if (!misconduct_.Note(member.agent, now_)) return;
  Remove(member, Parting::kLost,
         absl::StrCat("it has broken the protocol ", Misconduct::kAllowed,
                      " times, and may come back in ", absl::FormatDuration(Misconduct::kTime)));
}

void Coordination::On(const coordinator::Woke&) {
  if (phase_ != Phase::kOver && metronome_.Beat(now_)) Beat();
}

void Coordination::On(const coordinator::Drain& event) {
  if (phase_ == Phase::kOver) return;
  Finish(event.exit_code, absl::StrCat("the coordinator leaves: ", event.reason), {},
         kExitPeerLost);
}

void Coordination::OnMessage(Member& member, const Heartbeat& heartbeat) {
  member.liveness.Heard(heartbeat.sequence);
  SendTo(member, HeartbeatAck{.sequence = heartbeat.sequence});
}

void Coordination::OnMessage(Member& member, const Leave& leave) {
  Remove(member, leave.done ? Parting::kDone : Parting::kLeft, leave.reason);
}

template <typename T>
void Coordination::OnMessage(Member& member, const T& message) {
  SendTo(member, Refuse{.code = RefuseCode::kUnexpected,
                        .reason = absl::StrCat(MessageName(Message(message)),
                                               " makes no sense from a member")});
}

void Coordination::Beat() {
  ++beats_;
  std::vector<std::string> gone;
  for (auto& [agent, member] : members_.members()) {
    const bool away = !member.connection.has_value();
    const int64_t silent = away ? ++member.away : member.liveness.Beat();
    const int64_t limit = away && !member.restored ? config_.reconnect_grace : config_.lost_after;
    if (silent >= limit) gone.push_back(agent);
  }
  for (const std::string& agent : gone) {
    Member* const member = members_.Named(agent);
    if (member == nullptr) continue;
    Remove(*member, Parting::kLost,
           member->connection.has_value()
               ? absl::StrCat("no sign of life in ", config_.lost_after, " heartbeats")
               : "its connection broke and it did not come back");
    if (phase_ == Phase::kOver) return;
  }
  if (beats_ % kBeatsOfProgress == 0) ReportProgress();
}

void Coordination::Remove(Member& member, Parting parting, absl::string_view why) {
  const bool lost = parting == Parting::kLost;
  Say(absl::StrCat(member.agent,
                   lost                        ? " is lost: "
                   : parting == Parting::kDone ? " is done: "
                                               : " leaves: ",
                   why));
  const int64_t quiet = member.connection.has_value() ? member.liveness.silent() : member.away;
  if (lost && quiet < config_.reconnect_grace) fence_ = Add(now_, Lease());
  if (member.connection.has_value()) {
    if (lost) {
      SendTo(member, Refuse{.code = RefuseCode::kStaleRound,
                            .reason = absl::StrCat("stale round: given up in round ", state_.round,
                                                   ": ", why),
                            .closing = true});
    }
    actions_.push_back(coordinator::Close{*member.connection, std::string(why)});
  }
  const std::string agent = member.agent;
  const bool was_in_round = member.in_round;
  const bool was_waited_for = was_in_round && IsWaitedFor(member);
  if (lost && lost_.size() < kNamed) lost_.push_back(agent);
  DropFromRound(member);
  members_.Remove(agent, lost);
  changed_ = true;
  blocked_.clear();
  if (was_in_round) OnDropped(agent, was_waited_for, parting);
}

void Coordination::Persist() {
  actions_.push_back(coordinator::Persist{++persist_sequence_, state_});
}

bool Coordination::IsCurrent(const Member& member, absl::string_view name, int64_t round) {
  if (round == state_.round) return true;
  SendTo(member, Refuse{.code = RefuseCode::kStaleRound,
                        .reason = absl::StrCat("stale round: ", name, " of round ", round,
                                               "; the present one is ", state_.round)});
  return false;
}

std::shared_ptr<const std::string> Coordination::FrameOf(Message message) {
  std::visit(
      [this](auto& m) {
        m.run_id = config_.run_id;
        m.round = state_.round;
      },
      message);
  auto frame = BytesOf(std::move(message));
  if (frame.ok()) return *std::move(frame);
  Say(absl::StrCat("a message cannot be sent: ", frame.status().message()));
  return nullptr;
}

void Coordination::SendTo(const Member& member, Message message) {
  if (member.connection.has_value()) SendFrame(member, FrameOf(std::move(message)));
}

void Coordination::SendFrame(const Member& member,
                             const std::shared_ptr<const std::string>& frame) {
  if (member.connection.has_value() && frame != nullptr) {
    actions_.push_back(coordinator::Send{*member.connection, frame});
  }
}

void Coordination::Broadcast(Message message, Audience audience) {
  const std::shared_ptr<const std::string> frame = FrameOf(std::move(message));
  for (const auto& [agent, member] : members_.members()) {
    if (audience == Audience::kAll || member.in_round) SendFrame(member, frame);
  }
}

void Coordination::Say(std::string text) { actions_.push_back(coordinator::Say{std::move(text)}); }

void Coordination::ReportProgress() {
  Progress progress;
  progress.missing = Missing();
  if (phase_ == Phase::kJoining) {
    progress.have = members_.NodeCount();
    progress.need = config_.min_nodes;
    progress.text =
        absl::StrCat("waiting for nodes: ", progress.have, " of at least ", progress.need);
    const int64_t agents = std::ranges::count_if(
        members_.members(), [](const auto& named) { return !named.second.excluded; });
    if (agents > progress.have) {
      absl::StrAppend(&progress.text, "; ", agents, " agents are on ",
                      Counted(progress.have, "node"), ", for those of one --node-id count once");
    }
    if (!blocked_.empty()) absl::StrAppend(&progress.text, "; ", blocked_);
  } else if (deadline_.has_value()) {
    int64_t members = 0;
    for (const auto& [agent, count] : round_nodes_) members += count;
    progress.need = members;
    progress.have = members - static_cast<int64_t>(progress.missing.size());
    progress.text = absl::StrCat("round ", state_.round, ", ", PhaseName(phase_), ": ",
                                 progress.have, " of ", progress.need);
  } else {
    return;
  }
  const size_t more = progress.missing.size() > kNamed ? progress.missing.size() - kNamed : 0;
  if (more > 0) {
    progress.missing.resize(kNamed);
    progress.missing.push_back(absl::StrCat("and ", more, " more"));
  }
  Say(absl::StrCat(progress.text, progress.missing.empty() ? "" : "; missing: ",
                   absl::StrJoin(progress.missing, ", ")));
  Broadcast(std::move(progress), Audience::kAll);
}

}  // namespace autobatch
