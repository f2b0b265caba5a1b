// A round from its opening to the reports, and how it ends; see coordination.h.

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/counted.h"
#include "orchestrator/core/coordination.h"
#include "orchestrator/core/exit_codes.h"
#include "orchestrator/wire/message_rules.h"

namespace autobatch {

absl::string_view Coordination::PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kJoining:
      return "joining";
    case Phase::kOpening:
      return "opening";
    case Phase::kCollecting:
      return "reports";
    case Phase::kReducing:
      return "minimum by NCCL";
    case Phase::kPreparing:
      return "prepared records";
    case Phase::kCommitting:
      return "committing";
    case Phase::kCommitted:
      return "confirmed commits";
    case Phase::kOver:
      return "over";
  }
  return "?";
}

void Coordination::Advance() {
  changed_ = false;
  if (phase_ == Phase::kJoining) {
    AdvanceJoining();
  } else if (phase_ == Phase::kCommitted) {
    AdvanceCommitted();
  }
  if (deadline_.has_value() && now_ >= *deadline_) OnDeadline();
}

void Coordination::AdvanceJoining() {
  const int64_t nodes = members_.NodeCount();
  if (nodes < config_.min_nodes || !blocked_.empty()) {
    last_call_.reset();
    at_once_ = false;
    if (!deadline_.has_value()) deadline_ = Add(now_, config_.join_timeout);
    AskEarly();
    return;
  }
  if (!last_call_.has_value()) last_call_ = Add(now_, config_.last_call);
  if (nodes >= config_.max_nodes || at_once_ || now_ >= *last_call_) {
    Open();
  } else {
    AskEarly();
  }
}

void Coordination::AdvanceCommitted() {
  if (config_.once) return;
  if (!confirming_ && AskForAnotherRecord(option_changes_, config_, RoundNodes())) {
    Say(absl::StrCat("round ", state_.round, " was agreed with other options: a new one follows"));
    world_changed_ = true;
    option_changes_ = {};
  }
  if (world_changed_) {
    if (confirming_) EndConfirmation();
    phase_ = Phase::kJoining;
    deadline_.reset();
    at_once_ = true;
    AdvanceJoining();
    return;
  }
  bool newcomers = false;
  for (const auto& [agent, member] : members_.members()) {
    newcomers |= !member.in_round && !member.excluded && FitsRound(member);
  }
  if (!newcomers) {
    last_call_.reset();
    return;
  }
  if (!last_call_.has_value()) last_call_ = Add(now_, config_.last_call);
  if (members_.NodeCount() < config_.max_nodes && now_ < *last_call_) return;
  if (confirming_) EndConfirmation();
  Open();
}

void Coordination::OnDeadline() {
  const std::vector<std::string> missing = Missing();
  deadline_.reset();
  switch (phase_) {
    case Phase::kJoining:
      if (!blocked_.empty()) {
        Finish(kExitNoAgreement, blocked_, {});
      } else {
        Finish(kExitNoAgreement,
               absl::StrCat("not enough nodes within ", absl::FormatDuration(config_.join_timeout),
                            ": ", members_.NodeCount(), " of at least ", config_.min_nodes),
               missing);
      }
      return;
    case Phase::kReducing:
      reduction_->Fail(absl::StrCat("no minimum by NCCL within ",
                                    absl::FormatDuration(config_.reduce_timeout), " from ",
                                    absl::StrJoin(missing, ", ")));
      StepReduction();
      return;
    case Phase::kCollecting:
    case Phase::kPreparing:
    case Phase::kCommitted:
      if (phase_ == Phase::kPreparing && missing.empty()) Decide();
      if (phase_ == Phase::kCommitted) EndConfirmation();
      for (const std::string& agent : missing) {
        Member* const member = members_.Named(agent);
        if (member == nullptr || phase_ == Phase::kOver) continue;
        Remove(*member, Parting::kLost,
               absl::StrCat("its part of the round did not come in time: ", PhaseName(phase_)));
      }
      return;
    default:
      return;
  }
}

void Coordination::TakeNumber() {
  if (number_ != Number::kNone && state_.round > highest_seen_) return;
  const int64_t round = std::max(state_.round, highest_seen_) + 1;
  if (round >= kMaxRound) {
    Finish(kExitInternal, "the numbers of rounds are used up", {});
    return;
  }
  number_ = Number::kOnItsWay;
  asked_early_ = false;
  state_.round = round;
  Persist();
}

// As long as nothing was committed nobody trains, and no probe is in anybody's way: probes run
// while others still come, and the last of them is waited for only once. The number is on the disk
// before the first one comes.
void Coordination::AskEarly() {
  if (state_.committed_round > 0 || !blocked_.empty()) return;
  TakeNumber();
  if (phase_ == Phase::kOver || number_ != Number::kOnDisk || asked_early_) return;
  asked_early_ = true;
  for (auto& [agent, member] : members_.members()) {
    member.reported = false;
    AskEarly(member);
  }
}

void Coordination::AskEarly(const Member& member) {
  if (!member.excluded) SendTo(member, Collect{.communicator_bytes = communicator_bytes_});
}

void Coordination::Open() {
  TakeNumber();
  if (phase_ == Phase::kOver) return;
  phase_ = Phase::kOpening;
  deadline_.reset();
  last_call_.reset();
  at_once_ = false;
  world_changed_ = false;
  if (number_ == Number::kOnDisk) BeginCollecting();
}

void Coordination::On(const coordinator::Persisted& event) {
  if (phase_ == Phase::kOver) return;
  if (!event.status.ok()) {
    Finish(kExitInternal,
           absl::StrCat("the coordinator's state cannot be written: ", event.status.message()), {});
    return;
  }
  // An older state; a newer one is on its way.
  if (event.sequence != persist_sequence_) return;
  changed_ = true;
  if (number_ == Number::kOnItsWay) number_ = Number::kOnDisk;
  if (phase_ == Phase::kOpening) {
    BeginCollecting();
  } else if (phase_ == Phase::kCommitting) {
    BeginCommitted();
  }
}

bool Coordination::FitsRound(const Member& member) const {
  return round_nodes_.contains(member.boot_id) || RoundNodes() < config_.max_nodes;
}

void Coordination::AddToRound(Member& member) {
  member.in_round = true;
  ++round_nodes_[member.boot_id];
}

void Coordination::DropFromRound(Member& member) {
  if (!member.in_round) return;
  member.in_round = false;
  const auto node = round_nodes_.find(member.boot_id);
  if (--node->second == 0) round_nodes_.erase(node);
}

void Coordination::BeginCollecting() {
  // Who was in the last round goes first, then who came first.
  std::vector<Member*> candidates;
  for (auto& [agent, member] : members_.members()) {
    if (!member.excluded) candidates.push_back(&member);
  }
  std::ranges::sort(candidates, [](const Member* a, const Member* b) {
    return std::tuple(!a->in_round, a->number) < std::tuple(!b->in_round, b->number);
  });
  for (Member* member : candidates) DropFromRound(*member);
  for (Member* member : candidates) {
    member->prepared = member->committed = false;
    if (!asked_early_) member->reported = false;
    if (FitsRound(*member)) AddToRound(*member);
  }
  const bool asked = std::exchange(asked_early_, false);
  number_ = Number::kNone;
  phase_ = Phase::kCollecting;
  reduction_.reset();
  if (RoundNodes() < config_.min_nodes) {
    AbortRound("too few nodes are left", {});
    return;
  }
  deadline_ = Add(now_, config_.report_timeout);
  Say(absl::StrCat("round ", state_.round, " begins: ", Counted(RoundNodes(), "node")));
  if (!asked) Broadcast(Collect{.communicator_bytes = communicator_bytes_}, Audience::kRound);
  outstanding_ = std::ranges::count_if(
      candidates, [](const Member* member) { return member->in_round && !member->reported; });
  if (outstanding_ == 0) CombineReports();
}

void Coordination::OnMessage(Member& member, const Report& report) {
  if (!IsCurrent(member, "report", report.round)) return;
  // A second report of a round changes nothing.
  const bool collecting = phase_ == Phase::kCollecting && member.in_round;
  if ((!collecting && !asked_early_) || member.reported) return;
  absl::flat_hash_set<absl::string_view> announced(member.devices.begin(), member.devices.end());
  std::string wrong;
  for (const DeviceOutcome& device : report.devices) {
    if (announced.erase(device.uuid) == 0) wrong = device.uuid;
  }
  if (!wrong.empty()) {
    Remove(member, Parting::kLost,
           absl::StrCat("it reports device ", wrong, " twice, or never announced it"));
    return;
  }
  member.outcomes = report.devices;
  member.communicator_bytes = report.communicator_bytes;
  for (const std::string& uuid : member.devices) {
    if (!announced.contains(uuid)) continue;
    member.outcomes.push_back({.uuid = uuid, .message = "the agent did not report it"});
  }
  member.reported = true;
  if (collecting && --outstanding_ == 0) CombineReports();
}

void Coordination::OnDropped(const std::string& agent, bool was_waited_for, Parting parting) {
  switch (phase_) {
    case Phase::kCollecting:
      if (was_waited_for) --outstanding_;
      if (RoundNodes() < config_.min_nodes) {
        AbortRound(absl::StrCat(agent, " is gone, and too few nodes are left"), {agent});
      } else if (outstanding_ == 0) {
        CombineReports();
      }
      return;
    case Phase::kReducing:
    case Phase::kPreparing:
      AbortRound(absl::StrCat(agent, " is gone"), {agent});
      return;
    case Phase::kCommitting:
      world_changed_ = true;
      return;
    case Phase::kCommitted:
      if (parting == Parting::kDone) {
        if (round_nodes_.empty()) Finish(kExitOk, "every member is done", {});
        return;
      }
      world_changed_ = true;
      if (!was_waited_for) return;
      if (--outstanding_ == 0 && confirming_) EndConfirmation();
      return;
    default:
      return;
  }
}

void Coordination::AbortRound(std::string reason, std::vector<std::string> missing) {
  Say(absl::StrCat("round ", state_.round, " is aborted: ", reason));
  Broadcast(Abort{.reason = reason, .missing = missing}, Audience::kRound);
  actions_.push_back(coordinator::RoundEnded{
      .round = state_.round, .reason = std::move(reason), .missing = std::move(missing)});
  phase_ = Phase::kJoining;
  number_ = Number::kNone;
  asked_early_ = false;
  reduction_.reset();
  deadline_.reset();
  last_call_.reset();
  at_once_ = true;
  changed_ = true;
}

bool Coordination::IsWaitedFor(const Member& member) const {
  if (!member.in_round) return false;
  switch (phase_) {
    case Phase::kCollecting:
      return !member.reported;
    case Phase::kReducing:
      return true;
    case Phase::kPreparing:
      return !member.prepared;
    case Phase::kCommitted:
      return confirming_ && !member.committed;
    default:
      return false;
  }
}

std::vector<std::string> Coordination::Missing() {
  if (phase_ == Phase::kReducing) return reduction_->Missing();
  std::vector<std::string> missing;
  if (phase_ == Phase::kJoining) {
    for (const std::string& agent : config_.expected) {
      if (members_.Named(agent) == nullptr) missing.push_back(agent);
    }
    for (const std::string& agent : lost_) {
      if (members_.Named(agent) == nullptr && std::ranges::count(missing, agent) == 0) {
        missing.push_back(agent);
      }
    }
    return missing;
  }
  for (const auto& [agent, member] : members_.members()) {
    if (IsWaitedFor(member)) missing.push_back(agent);
  }
  return missing;
}

void Coordination::Finish(int exit_code, std::string reason,
                          const std::vector<std::string>& missing,
                          std::optional<int> agents_exit_code) {
  const bool in_a_round = phase_ != Phase::kJoining && phase_ != Phase::kCommitted;
  if (in_a_round) {
    actions_.push_back(
        coordinator::RoundEnded{.round = state_.round, .reason = reason, .missing = missing});
  }
  // Whom the end does not concern, since it has the record, just loses the connection.
  const bool committed = phase_ == Phase::kCommitted && exit_code == kExitOk && !agents_exit_code;
  const int theirs = exit_code == kExitOk         ? kExitNoAgreement
                     : exit_code == kExitInternal ? kExitPeerLost
                                                  : exit_code;
  const std::shared_ptr<const std::string> abort =
      FrameOf(Abort{.reason = reason,
                    .missing = missing,
                    .over = true,
                    .exit_code = agents_exit_code.value_or(theirs)});
  for (const auto& [agent, member] : members_.members()) {
    if (!member.connection.has_value()) continue;
    if (!committed || !member.in_round) SendFrame(member, abort);
    actions_.push_back(coordinator::Close{*member.connection, reason});
  }
  for (const auto& [connection, address] : strangers_) {
    // They have proved who they are, and were about to join.
    if (abort != nullptr) actions_.push_back(coordinator::Send{connection, abort});
    actions_.push_back(coordinator::Close{connection, reason});
  }
  strangers_.clear();
  phase_ = Phase::kOver;
  if (!missing.empty()) absl::StrAppend(&reason, "; missing: ", absl::StrJoin(missing, ", "));
  actions_.push_back(coordinator::Finished{exit_code, std::move(reason)});
}

}  // namespace autobatch
