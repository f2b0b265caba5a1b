// A round from the reports to the confirmed commit; see coordination.h.

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/units.h"
#include "orchestrator/core/combine.h"
#include "orchestrator/core/coordination.h"
#include "orchestrator/core/exit_codes.h"

namespace autobatch {

std::vector<Member*> Coordination::Participants() {
  std::vector<Member*> participants;
  for (auto& [agent, member] : members_.members()) {
    if (member.in_round) participants.push_back(&member);
  }
  static constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  std::ranges::sort(participants, [](const Member* a, const Member* b) {
    return std::tuple(a->node_rank.value_or(kLast), absl::string_view(a->agent)) <
           std::tuple(b->node_rank.value_or(kLast), absl::string_view(b->agent));
  });
  return participants;
}

void Coordination::CombineReports() {
  deadline_.reset();
  const std::vector<Member*> participants = Participants();
  std::vector<Contribution> contributions;
  for (const Member* member : participants) {
    contributions.push_back({.agent = member->agent,
                             .boot_id = member->boot_id,
                             .claims = &member->launcher,
                             .outcomes = &member->outcomes});
  }
  Combined combined = Combine(contributions, config_.failed_device, config_.max_nodes);
  for (const std::string& note : combined.notes) Say(note);
  if (combined.failure.has_value()) {
    Finish(combined.failure->exit_code, combined.failure->reason, {});
    return;
  }
  for (const std::string& agent : combined.excluded) {
    Member& member = *members_.Named(agent);
    SendTo(member, Abort{.reason = "left out of the round: none of its devices can train"});
    DropFromRound(member);
    members_.Exclude(member);
  }
  if (RoundNodes() < config_.min_nodes) {
    Finish(kExitNoAgreement,
           absl::StrCat("too few nodes have a device that can train: ", RoundNodes(),
                        " of at least ", config_.min_nodes),
           combined.excluded);
    return;
  }
  facts_ = std::move(combined.facts);
  facts_.run_id = config_.run_id;
  facts_.round = state_.round;
  facts_.config_digest = members_.config()->digest;
  facts_.workload = participants.front()->workload;
  for (const Member* member : participants) facts_.simulated |= member->simulated;
  if (config_.reduce == ReduceMode::kOff) {
    Seal();
  } else {
    BeginReducing();
  }
}

void Coordination::BeginReducing() {
  std::vector<ReduceMember> members;
  std::vector<std::string> outside;
  for (const RoundMember& member : facts_.members) {
    if (!members_.Named(member.agent)->in_nccl) outside.push_back(member.agent);
    members.push_back(
        {.agent = member.agent, .devices = static_cast<int64_t>(member.devices.size())});
  }
  // Where it is required, such a mixture is not let in. Where nobody takes part, an attempt says
  // why.
  if (!outside.empty() && outside.size() < members.size()) {
    Say(absl::StrCat("no minimum by NCCL, the reports decide alone: ", absl::StrJoin(outside, ", "),
                     outside.size() == 1 ? " takes" : " take",
                     " no part in it (--no-nccl, or no GPU)"));
    Seal();
    return;
  }
  reduction_.emplace(std::move(members), facts_.minimum_batch, config_.reduce_attempts);
  phase_ = Phase::kReducing;
  StepReduction();
}

void Coordination::OnMessage(Member& member, const ReduceId& id) {
  if (!IsCurrent(member, "reduce_id", id.round) || phase_ != Phase::kReducing) return;
  if (reduction_->OnId(member.agent, id)) StepReduction();
}

void Coordination::OnMessage(Member& member, const ReduceResult& result) {
  if (!IsCurrent(member, "reduce_result", result.round) || phase_ != Phase::kReducing) return;
  if (reduction_->OnResult(member.agent, result)) StepReduction();
}

void Coordination::StepReduction() {
  switch (reduction_->state()) {
    case Reduction::State::kId:
      // A new attempt: the limit is its own.
      deadline_ = Add(now_, config_.reduce_timeout);
      if (!reduction_->reason().empty()) {
        Say(absl::StrCat("attempt ", reduction_->attempt() - 1,
                         " at the minimum by NCCL failed: ", reduction_->reason()));
      }
      [[fallthrough]];
    case Reduction::State::kResults:
      for (const RoundMember& member : facts_.members) {
        if (auto reduce = reduction_->RequestFor(member.agent)) {
          SendTo(*members_.Named(member.agent), *std::move(reduce));
        }
      }
      return;
    case Reduction::State::kDiffers:
      Finish(kExitNoAgreement, reduction_->reason(), {});
      return;
    case Reduction::State::kFailed:
      if (config_.reduce == ReduceMode::kRequire) {
        Finish(kExitNoAgreement, absl::StrCat("the minimum by NCCL failed: ", reduction_->reason()),
               {});
        return;
      }
      Say(absl::StrCat("no minimum by NCCL, the reports decide alone: ", reduction_->reason()));
      Seal();
      return;
    case Reduction::State::kAgreed:
      break;
  }
  std::optional<int64_t> assumed;
  for (const RoundMember& member : facts_.members) {
    const std::optional<int64_t> own = members_.Named(member.agent)->communicator_bytes;
    if (own.has_value()) assumed = std::min(assumed.value_or(*own), *own);
  }
  const std::optional<int64_t> measured = reduction_->communicator_bytes();
  if (measured.has_value() && assumed.has_value() && *measured > *assumed && !confirmed_again_) {
    confirmed_again_ = true;
    communicator_bytes_ = std::max(communicator_bytes_.value_or(0), *measured);
    AbortRound(absl::StrCat("the communicator takes ", *measured, " bytes, and ", *assumed,
                            " were held back for it: every batch is confirmed once more"),
               {});
    return;
  }
  Seal();
}

void Coordination::Seal() {
  deadline_.reset();
  absl::StatusOr<AgreedRecord> agreed = make_record_(facts_);
  if (!agreed.ok()) {
    if (agreed.status().code() == absl::StatusCode::kFailedPrecondition) {
      AbortRound(std::string(agreed.status().message()), {});
      at_once_ = false;
      blocked_ = std::string(agreed.status().message());
    } else {
      Finish(kExitNoAgreement, absl::StrCat("no record can be made: ", agreed.status().message()),
             {});
    }
    return;
  }
  agreed_ = *std::move(agreed);
  record_ = std::make_shared<const std::string>(std::move(agreed_.text));
  prepare_ = FrameOf(Prepare{.digest = agreed_.digest, .record = *record_});
  if (prepare_ == nullptr) {
    Finish(kExitNoAgreement,
           absl::StrCat("the record has ", record_->size(),
                        " bytes, too many for one message: ask for fewer world sizes"),
           {});
    return;
  }
  places_.clear();
  for (size_t i = 0; i < agreed_.shares.size(); ++i) places_[agreed_.shares[i].node] = i;
  // Nothing of it need be on the disk: whoever takes over begins the round after.
  phase_ = Phase::kPreparing;
  deadline_ = Add(now_, config_.commit_timeout);
  outstanding_ = static_cast<int64_t>(facts_.members.size());
  for (const RoundMember& member : facts_.members) SendPrepare(*members_.Named(member.agent));
  actions_.push_back(coordinator::Foresee{Decision()});
}

void Coordination::SendPrepare(const Member& member) {
  const auto place = places_.find(member.agent);
  if (place != places_.end()) {
    SendTo(member, Grants{.devices = agreed_.shares[place->second].shares});
  }
  SendFrame(member, prepare_);
}

void Coordination::OnMessage(Member& member, const Prepared& prepared) {
  if (!IsCurrent(member, "prepared", prepared.round)) return;
  if (phase_ != Phase::kPreparing || !member.in_round || member.prepared) return;
  if (prepared.digest != agreed_.digest) {
    Remove(member, Parting::kLost,
           absl::StrCat("it prepared ", prepared.digest, " where ", agreed_.digest, " was sent"));
    return;
  }
  member.prepared = true;
  if (--outstanding_ == 0) Decide();
}

// Beside the round there may be members of the one before: left out of this one, or back after it
// had begun. Their heartbeats would keep their leases going.
void Coordination::PutOutOthersWithARecord() {
  std::vector<std::string> others;
  for (const auto& [agent, member] : members_.members()) {
    if (member.has_record && !member.in_round) others.push_back(agent);
  }
  for (const std::string& agent : others) {
    Remove(*members_.Named(agent), Parting::kLost,
           absl::StrCat("round ", state_.round, " goes on without it, and its record is over"));
  }
}

CoordinatorState Coordination::Decision() {
  CoordinatorState decision = state_;
  decision.committed_round = state_.round;
  decision.committed_digest = agreed_.digest;
  decision.min_nodes = config_.min_nodes;
  decision.max_nodes = config_.max_nodes;
  decision.options = config_.options;
  decision.members.clear();
  for (const RoundMember& member : facts_.members) {
    decision.members.push_back({member.agent, members_.Named(member.agent)->incarnation});
  }
  return decision;
}

void Coordination::Decide() {
  deadline_.reset();
  PutOutOthersWithARecord();
  if (now_ < fence_) {
    deadline_ = fence_;
    return;
  }
  before_decision_ = std::exchange(state_, Decision());
  world_changed_ = false;
  phase_ = Phase::kCommitting;
  Persist();
}

void Coordination::BeginCommitted() {
  if (world_changed_) {
    // Nobody has heard of it yet: better none than one for a world that is gone.
    state_ = before_decision_;
    AbortRound("a member left while the round was being committed", {});
    return;
  }
  phase_ = Phase::kCommitted;
  confirming_ = true;
  confirmed_again_ = false;
  lost_.clear();
  deadline_ = Add(now_, config_.commit_timeout);
  outstanding_ = static_cast<int64_t>(facts_.members.size());
  for (const RoundMember& member : facts_.members) members_.Named(member.agent)->has_record = true;
  Broadcast(Commit{.digest = agreed_.digest}, Audience::kRound);
  coordinator::RoundEnded ended{
      .round = state_.round, .committed = true, .digest = agreed_.digest, .record = record_};
  for (RoundMember& member : facts_.members) {
    ended.nodes.push_back({.node = member.agent, .devices = std::move(member.devices)});
  }
  Say(absl::StrCat("round ", state_.round, " is committed: batch ",
                   FormatCount(facts_.minimum_batch), ", set by ", facts_.minimum_device, " of ",
                   facts_.minimum_node));
  actions_.push_back(std::move(ended));
}

void Coordination::OnMessage(Member& member, const Committed& committed) {
  if (!IsCurrent(member, "committed", committed.round)) return;
  if (phase_ != Phase::kCommitted || !member.in_round || member.committed) return;
  if (committed.digest != state_.committed_digest) {
    Remove(member, Parting::kLost, "it committed another record");
    return;
  }
  member.committed = true;
  if (--outstanding_ == 0 && confirming_) EndConfirmation();
}

void Coordination::EndConfirmation() {
  confirming_ = false;
  changed_ = true;
  deadline_.reset();
  coordinator::CommitConfirmed confirmed{.round = state_.round};
  for (const StateMember& state : state_.members) {
    const Member* const member = members_.Named(state.agent);
    const bool done =
        member != nullptr && member->incarnation == state.incarnation && member->committed;
    (done ? confirmed.confirmed : confirmed.missing).push_back(state.agent);
  }
  const std::vector<std::string> missing = confirmed.missing;
  actions_.push_back(std::move(confirmed));
  if (!config_.once) return;
  if (missing.empty()) {
    Finish(kExitOk, absl::StrCat("round ", state_.round, " is committed everywhere"), {});
  } else {
    Finish(kExitPeerLost,
           absl::StrCat("round ", state_.round, " is committed, but not confirmed everywhere"),
           missing);
  }
}

}  // namespace autobatch
