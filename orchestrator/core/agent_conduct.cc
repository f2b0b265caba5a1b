#include "orchestrator/core/agent_conduct.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "orchestrator/core/exit_codes.h"
#include "orchestrator/core/outgoing.h"

namespace autobatch {

AgentConduct::AgentConduct(AgentConfig config, RecordChecker check_record, SteadyTime now)
    : config_(std::move(config)),
      check_record_(std::move(check_record)),
      now_(now),
      backoff_(config_.first_backoff, config_.last_backoff,
               absl::StrCat(config_.hello.agent, config_.hello.incarnation)),
      last_sign_(now),
      hello_deadline_(now),
      metronome_(absl::Seconds(1), now),
      round_(config_.hello.round) {}

std::vector<AgentAction> AgentConduct::Start(SteadyTime now) {
  now_ = now;
  last_sign_ = now;
  actions_.push_back(agent::Connect{absl::ZeroDuration()});
  next_wake_ = NextWake();
  return std::exchange(actions_, {});
}

std::vector<AgentAction> AgentConduct::Handle(const AgentEvent& event, SteadyTime now) {
  now_ = now;
  AllowForPause();
  if (phase_ != Phase::kOver) std::visit([this](const auto& e) { On(e); }, event);
  next_wake_ = NextWake();
  return std::exchange(actions_, {});
}

std::optional<SteadyTime> AgentConduct::NextWake() const {
  switch (phase_) {
    case Phase::kAway:
      return Patience();
    case Phase::kGreeting:
      return std::min(Patience(), hello_deadline_);
    case Phase::kMember:
      return metronome_.next();
    case Phase::kOver:
      return std::nullopt;
  }
  return std::nullopt;
}

bool AgentConduct::MayStart(SteadyTime now) const {
  if (committed_digest_.empty()) return false;
  if (config_.once) return true;
  return phase_ == Phase::kMember && now < Add(lease_from_, lease_);
}

void AgentConduct::AllowForPause() {
  if (!next_wake_.has_value()) return;
  const SteadyTime due = Add(*next_wake_, metronome_.interval());
  if (now_ <= due) return;
  const SteadyTime::duration slept = now_ - *next_wake_;
  last_sign_ += slept;
  hello_deadline_ += slept;
}

SteadyTime AgentConduct::Patience() const {
  return Add(last_sign_, IsTrainable() ? config_.rejoin_timeout
                         : was_member_ ? config_.lost_timeout
                                       : config_.join_timeout);
}

void AgentConduct::On(const agent::Connected&) {
  if (phase_ != Phase::kAway) return;
  phase_ = Phase::kGreeting;
  hello_deadline_ = Add(now_, config_.hello_timeout);
  AgentHello hello = config_.hello;
  hello.incarnation = absl::StrCat(config_.hello.incarnation, ".", joined_anew_);
  const bool prepared = keeping_ == Keeping::kPrepared || keeping_ == Keeping::kConfirming ||
                        keeping_ == Keeping::kCommitted;
  hello.prepared_digest = prepared ? digest_ : "";
  hello.committed_digest = committed_digest_;
  unanswered_.assign({{.sequence = 0, .sent = now_}});
  Send(std::move(hello));
}

void AgentConduct::On(const agent::ConnectFailed& event) {
  if (phase_ != Phase::kAway) return;
  last_error_ = std::string(event.status.message());
  if (event.status.code() == absl::StatusCode::kPermissionDenied) {
    Finish(kExitNotAuthorised, absl::StrCat("the coordinator does not let us in: ", last_error_));
  } else if (now_ >= Patience()) {
    OnNoCoordinator();
  } else {
    Say(absl::StrCat("no coordinator yet, trying again: ", last_error_));
    Connect();
  }
}

void AgentConduct::On(const agent::Disconnected& event) {
  if (phase_ != Phase::kGreeting && phase_ != Phase::kMember) return;
  Say(absl::StrCat("the connection to the coordinator broke: ", event.why));
  last_error_ = event.why;
  phase_ = Phase::kAway;
  Connect();
}

void AgentConduct::On(const agent::Woke&) {
  if (phase_ == Phase::kMember) {
    if (!metronome_.Beat(now_)) return;
    if (coordinator_.Beat() >= lost_after_) {
      Reconnect(absl::StrCat("the coordinator has answered none of ", lost_after_, " heartbeats"));
    } else {
      unanswered_.push_back({.sequence = ++sequence_, .sent = now_});
      Send(Heartbeat{.sequence = sequence_});
    }
    return;
  }
  if (now_ >= Patience()) {
    OnNoCoordinator();
  } else if (phase_ == Phase::kGreeting && now_ >= hello_deadline_) {
    Reconnect(absl::StrCat("no answer to the hello within ",
                           absl::FormatDuration(config_.hello_timeout)));
  }
}

void AgentConduct::On(const agent::Drain& event) {
  Leave(event.reason, event.done, event.exit_code);
}

void AgentConduct::On(const agent::Received& event) {
  if (phase_ != Phase::kGreeting && phase_ != Phase::kMember) return;
  if (!event.message.ok()) {
    Say(absl::StrCat("a message was not understood: ", event.message.status().message()));
    const Refuse refuse = RefusalOf(event.message.status());
    if (refuse.code == RefuseCode::kVersion) {
      Finish(kExitNoAgreement, refuse.reason);
    } else if (refuse.closing) {
      Reconnect(refuse.reason);
    }
    return;
  }
  const Message& message = *event.message;
  const bool refused = std::holds_alternative<Refuse>(message);
  if (!refused && RunIdOf(message) != config_.hello.run_id) {
    Finish(kExitNotAuthorised, absl::StrCat("the coordinator there is of run ", RunIdOf(message),
                                            ", this agent of ", config_.hello.run_id));
    return;
  }
  if (phase_ == Phase::kGreeting && !refused && !std::holds_alternative<Welcome>(message) &&
      !std::holds_alternative<Abort>(message)) {
    Reconnect(absl::StrCat("the coordinator said ", MessageName(message), " before welcome"));
    return;
  }
  std::visit([this](const auto& m) { OnMessage(m); }, message);
}

void AgentConduct::OnMessage(const Welcome& welcome) {
  if (phase_ != Phase::kGreeting) return;
  phase_ = Phase::kMember;
  was_member_ = true;
  taken_since_.reset();
  last_error_.clear();
  backoff_.Reset();
  last_sign_ = now_;
  coordinator_.Restart();
  lost_after_ = welcome.lost_after;
  metronome_ = Metronome(absl::Milliseconds(welcome.heartbeat_ms), now_);
  sequence_ = 0;
  lease_from_ = unanswered_.front().sent;
  lease_ = absl::Milliseconds(welcome.lease_ms);
  Say(absl::StrCat("joined the run as ", config_.hello.agent));
  const std::string& mine = committed_digest_.empty() ? digest_ : committed_digest_;
  if (IsTrainable() && welcome.standing_digest != mine) {
    DropRecord("its record does not stand any more");
  }
  if (config_.once && keeping_ == Keeping::kCommitted) {
    Finish(kExitOk, absl::StrCat("round ", round_, " is committed"));
  }
}

void AgentConduct::OnMessage(const HeartbeatAck& ack) {
  // Not a number that was never asked about.
  if (ack.sequence > sequence_) return;
  coordinator_.Heard(ack.sequence);
  if (coordinator_.silent() == 0) last_sign_ = now_;
  while (!unanswered_.empty() && unanswered_.front().sequence <= ack.sequence) {
    lease_from_ = unanswered_.front().sent;
    unanswered_.pop_front();
  }
}

void AgentConduct::OnMessage(const Progress& progress) {
  Say(absl::StrCat(progress.text, progress.missing.empty() ? "" : "; missing: ",
                   absl::StrJoin(progress.missing, ", ")));
}

void AgentConduct::OnMessage(const Refuse& refuse) {
  Say(absl::StrCat("refused: ", refuse.reason));
  if (!refuse.closing) return;
  switch (refuse.code) {
    case RefuseCode::kStaleRound:
      JoinAnew(refuse.reason);
      return;
    case RefuseCode::kDuplicateAgent:
    case RefuseCode::kDuplicateNodeRank:
    case RefuseCode::kDuplicateDevice:
      if (!taken_since_.has_value()) taken_since_ = now_;
      if (now_ < Add(*taken_since_, config_.duplicate_patience)) {
        Reconnect(refuse.reason);
      } else {
        Finish(kExitNoAgreement, refuse.reason);
      }
      return;
    case RefuseCode::kFull:
      Reconnect(refuse.reason);
      return;
    case RefuseCode::kClosing:
      Finish(kExitPeerLost, refuse.reason);
      return;
    case RefuseCode::kRunId:
      Finish(kExitNotAuthorised, refuse.reason);
      return;
    case RefuseCode::kConfig:
    case RefuseCode::kVersion:
    case RefuseCode::kContradiction:
      Finish(kExitNoAgreement, refuse.reason);
      return;
    case RefuseCode::kUnexpected:
    case RefuseCode::kInvalid:
      Finish(kExitInternal, refuse.reason);
      return;
  }
}

template <typename T>
void AgentConduct::OnMessage(const T& message) {
  Reconnect(absl::StrCat("the coordinator said ", MessageName(Message(message)),
                         ", which only agents say"));
}

void AgentConduct::Connect() { actions_.push_back(agent::Connect{backoff_.Next()}); }

void AgentConduct::Reconnect(std::string why) {
  Say(absl::StrCat("connecting again: ", why));
  last_error_ = why;
  phase_ = Phase::kAway;
  actions_.push_back(agent::Disconnect{std::move(why)});
  if (now_ >= Patience()) {
    OnNoCoordinator();
  } else {
    Connect();
  }
}

void AgentConduct::JoinAnew(absl::string_view reason) {
  // The others have gone on without this agent: what it has agreed to is over.
  EndReduction();
  DropRecord(reason);
  ++joined_anew_;
  was_member_ = false;
  last_sign_ = now_;
  Reconnect(std::string(reason));
}

void AgentConduct::DropRecord(absl::string_view why) {
  if (IsTrainable()) actions_.push_back(agent::StopTraining{std::string(why)});
  if (IsTrainable() || keeping_ != Keeping::kNothing) {
    actions_.push_back(agent::WithdrawRecord{round_, std::string(why)});
  }
  keeping_ = Keeping::kNothing;
  trainable_round_ = 0;
  committed_digest_.clear();
}

void AgentConduct::OnNoCoordinator() {
  const std::string cause = last_error_.empty() ? "" : absl::StrCat(": ", last_error_);
  if (config_.once && keeping_ == Keeping::kCommitted) {
    Finish(kExitOk, absl::StrCat("round ", round_, " is committed; the coordinator is gone"));
  } else if (!committed_digest_.empty()) {
    Finish(kExitPeerLost,
           absl::StrCat("the coordinator is lost", cause, "; what trains on the record of round ",
                        committed_round_, " goes on, and no further round will come"));
  } else if (was_member_) {
    Finish(kExitPeerLost, absl::StrCat("the coordinator is lost", cause));
  } else {
    Finish(kExitPeerLost, absl::StrCat("no coordinator let us in within ",
                                       absl::FormatDuration(config_.join_timeout), cause));
  }
}

void AgentConduct::Send(Message message) { SendFrame(FrameOf(std::move(message))); }

std::shared_ptr<const std::string> AgentConduct::FrameOf(Message message) {
  std::visit(
      [this](auto& m) {
        m.run_id = config_.hello.run_id;
        m.round = round_;
      },
      message);
  auto frame = BytesOf(std::move(message));
  if (frame.ok()) return *std::move(frame);
  Say(absl::StrCat("a message cannot be sent: ", frame.status().message()));
  return nullptr;
}

void AgentConduct::SendFrame(std::shared_ptr<const std::string> frame) {
  if (frame != nullptr) actions_.push_back(agent::Send{std::move(frame)});
}

void AgentConduct::Say(std::string text) { actions_.push_back(agent::Say{std::move(text)}); }

void AgentConduct::Leave(std::string reason, bool done, int exit_code) {
  if (phase_ == Phase::kMember) Send(autobatch::Leave{.reason = reason, .done = done});
  Finish(exit_code, std::move(reason));
}

void AgentConduct::Finish(int exit_code, std::string text) {
  EndReduction();
  // Whoever reads the file asks nobody whether it is still the newest. Without this agent nobody
  // learns that either, and without this node, or under the next coordinator, others may agree on
  // another one. Only what ended well leaves its record: with `once` it is what was asked for.
  const bool unsettled = keeping_ == Keeping::kWriting || keeping_ == Keeping::kPrepared;
  const bool left_behind = exit_code != kExitOk && (keeping_ != Keeping::kNothing || IsTrainable());
  if (unsettled || left_behind) actions_.push_back(agent::WithdrawRecord{round_, text});
  actions_.push_back(agent::Disconnect{text});
  actions_.push_back(agent::Finished{exit_code, std::move(text)});
  phase_ = Phase::kOver;
}

}  // namespace autobatch
