// Who says hello, and what he is told then; see coordination.h.

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/counted.h"
#include "orchestrator/core/coordination.h"
#include "orchestrator/core/outgoing.h"

namespace autobatch {
namespace {

// Rounds that an agent may have seen and this coordinator does not know of, since its state was
// lost or is an old one: one a second for eleven days. Any number at all would let one member use
// up the numbers, and with them the run.
constexpr int64_t kUnknownRounds = 1'000'000;

}  // namespace

std::optional<Refuse> Coordination::Repel(const AgentHello& hello) {
  if (const absl::Duration out = misconduct_.Out(hello.agent, now_); out > absl::ZeroDuration()) {
    return Refuse{.code = RefuseCode::kFull,
                  .reason = absl::StrCat(hello.agent, " has broken the protocol ",
                                         Misconduct::kAllowed, " times; it may come back in ",
                                         absl::FormatDuration(absl::Ceil(out, absl::Seconds(1))))};
  }
  // The number of a round that has not begun says nothing.
  const int64_t known = number_ == Number::kNone ? state_.round : state_.round - 1;
  if (hello.round - kUnknownRounds > known) {
    return Refuse{.code = RefuseCode::kContradiction,
                  .reason = absl::StrCat(hello.agent, " has seen round ", hello.round,
                                         ", and the last that this run knows of is ", known,
                                         ": no run loses more than ", kUnknownRounds, " rounds")};
  }
  return std::nullopt;
}

void Coordination::OnHello(ConnectionId connection, const AgentHello& hello) {
  const std::string address = strangers_.at(connection);
  if (std::optional<Refuse> refuse = Repel(hello); refuse.has_value()) {
    Say(absl::StrCat("refused ", hello.agent, " at ", address, ": ", refuse->reason));
    Reject(connection, *std::move(refuse));
    return;
  }
  const Member* const before = members_.Named(hello.agent);
  const std::string restored_boot_id = before != nullptr && before->restored ? before->boot_id : "";
  if (Member* const earlier = members_.EarlierStart(hello); earlier != nullptr) {
    Remove(*earlier, Parting::kLost, "it was started anew");
  }
  MemberTable::Admission admission = members_.Admit(hello, connection, address);
  if (admission.member == nullptr) {
    Say(absl::StrCat("refused ", hello.agent, " at ", address, ": ", admission.refuse.reason));
    Reject(connection, std::move(admission.refuse));
    return;
  }
  strangers_.erase(connection);
  Member& member = *admission.member;
  // Who comes back knows the number that we asked it by.
  const bool ours = admission.back && asked_early_ && hello.round == state_.round;
  if (!ours) highest_seen_ = std::max(highest_seen_, hello.round);
  changed_ = true;
  blocked_.clear();
  if (admission.replaced.has_value()) {
    actions_.push_back(coordinator::Close{*admission.replaced, "its agent has a new connection"});
  }
  if (!restored_boot_id.empty() && member.in_round) {
    round_nodes_.erase(restored_boot_id);
    ++round_nodes_[member.boot_id];
  }
  Say(absl::StrCat(member.agent, " at ", address, admission.back ? " is back" : " joined",
                   ", with ", Counted(std::ssize(member.devices), "device"), "; ",
                   members_.NodeCount(), " of ", config_.min_nodes, " to ", config_.max_nodes,
                   " nodes"));
  const std::string standing = StandingDigest(hello);
  member.has_record = !standing.empty();
  SendTo(member, Welcome{.heartbeat_ms = absl::ToInt64Milliseconds(config_.heartbeat),
                         .lost_after = config_.lost_after,
                         .lease_ms = absl::ToInt64Milliseconds(Lease()),
                         .standing_digest = standing});
  CatchUp(member, hello);
}

std::string Coordination::StandingDigest(const AgentHello& hello) const {
  const std::string& digest = state_.committed_digest;
  // A decision that is not on the disk yet is none, and what came before it is over in a moment.
  if (digest.empty() || phase_ == Phase::kCommitting ||
      (hello.committed_digest != digest && hello.prepared_digest != digest)) {
    return "";
  }
  const bool member = std::ranges::any_of(state_.members, [&](const StateMember& state) {
    return state.agent == hello.agent && state.incarnation == hello.incarnation;
  });
  return member ? digest : "";
}

void Coordination::CatchUp(Member& member, const AgentHello& hello) {
  if (phase_ == Phase::kCollecting && !member.in_round && !member.excluded && FitsRound(member)) {
    AddToRound(member);
    ++outstanding_;
  }
  if (!member.in_round && phase_ != Phase::kJoining && phase_ != Phase::kOpening) {
    SendTo(member, Progress{.have = members_.NodeCount(),
                            .need = config_.max_nodes,
                            .text = FitsRound(member)
                                        ? absl::StrCat("in line for the round after ", state_.round)
                                        : absl::StrCat("in reserve: round ", state_.round,
                                                       " has its ", RoundNodes(), " nodes")});
  }
  if (asked_early_ && !member.reported && hello.round <= state_.round) AskEarly(member);
  if (!IsWaitedFor(member)) return;
  if (phase_ == Phase::kCollecting) {
    SendTo(member, Collect{.communicator_bytes = communicator_bytes_});
  } else if (phase_ == Phase::kReducing) {
    if (std::optional<Reduce> reduce = reduction_->RequestFor(member.agent)) {
      SendTo(member, *std::move(reduce));
    }
  } else if (phase_ == Phase::kPreparing) {
    SendPrepare(member);
  } else if (phase_ == Phase::kCommitted) {
    // All its members had prepared before it was committed.
    if (hello.committed_digest == state_.committed_digest) {
      OnMessage(member, Committed{.round = state_.round, .digest = hello.committed_digest});
    } else if (hello.prepared_digest == state_.committed_digest) {
      SendTo(member, Commit{.digest = state_.committed_digest});
    } else {
      // A round that was called off before the coordinator was started anew.
      world_changed_ = true;
    }
  }
}

void Coordination::Reject(ConnectionId connection, Refuse refuse) {
  strangers_.erase(connection);
  refuse.run_id = config_.run_id;
  refuse.closing = true;
  if (auto frame = BytesOf(refuse); frame.ok()) {
    actions_.push_back(coordinator::Send{connection, *std::move(frame)});
  }
  actions_.push_back(coordinator::Close{connection, std::move(refuse.reason)});
}

}  // namespace autobatch
