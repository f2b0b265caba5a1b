// What an agent does in a round; see agent_conduct.h.

#include <utility>

#include "absl/strings/str_cat.h"
#include "orchestrator/core/agent_conduct.h"
#include "orchestrator/core/exit_codes.h"

namespace autobatch {

bool AgentConduct::IsCurrent(absl::string_view name, int64_t round) {
  if (round == round_) return true;
  Say(absl::StrCat("left alone: ", name, " of round ", round, ", where round ", round_,
                   " is the present one"));
  return false;
}

void AgentConduct::OnMessage(const Collect& collect) {
  if (collect.round < round_) {
    IsCurrent("collect", collect.round);
    return;
  }
  if (collect.round == round_) {
    // We were away: the report may be lost.
    SendFrame(report_);
    return;
  }
  EndReduction();
  round_ = collect.round;
  attempt_ = 0;
  keeping_ = Keeping::kNothing;
  digest_.clear();
  shares_.clear();
  report_.reset();
  communicator_bytes_ = collect.communicator_bytes;
  if (!probing_) StartProbe();
}

void AgentConduct::StartProbe() {
  probing_ = true;
  probed_with_ = communicator_bytes_;
  actions_.push_back(agent::Probe{round_, communicator_bytes_});
}

void AgentConduct::On(const agent::Probed& event) {
  if (!probing_) return;
  probing_ = false;
  if (communicator_bytes_.value_or(0) > probed_with_.value_or(0)) {
    // It began before we were told how much to hold back.
    StartProbe();
    return;
  }
  report_ = FrameOf(Report{.devices = event.devices,
                           .communicator_bytes = event.communicator_bytes,
                           .summary = event.summary});
  if (phase_ == Phase::kMember) SendFrame(report_);
}

void AgentConduct::OnMessage(const Reduce& reduce) {
  if (!IsCurrent("reduce", reduce.round) || reduce.attempt < attempt_) return;
  if (reduce.attempt > attempt_) {
    EndReduction();
    attempt_ = reduce.attempt;
    reducing_ = false;
    unique_id_.clear();
    reduced_.reset();
    if (reduce.unique_id.empty()) {
      actions_.push_back(agent::MakeReduceId{attempt_});
      return;
    }
  }
  if (reduced_.has_value()) {
    Send(*reduced_);
  } else if (reduce.unique_id.empty()) {
    if (!unique_id_.empty()) Send(ReduceId{.attempt = attempt_, .unique_id = unique_id_});
  } else if (!reducing_) {
    reducing_ = true;
    actions_.push_back(
        agent::StartReduce{attempt_, reduce.unique_id, reduce.rank_base, reduce.world});
  }
}

void AgentConduct::On(const agent::ReduceIdMade& event) {
  if (event.attempt != attempt_) return;
  if (!event.unique_id.ok()) {
    SendReduced({.failure = std::string(event.unique_id.status().message())});
    return;
  }
  unique_id_ = *event.unique_id;
  if (phase_ == Phase::kMember) Send(ReduceId{.attempt = attempt_, .unique_id = unique_id_});
}

void AgentConduct::On(const agent::Reduced& event) {
  if (event.attempt != attempt_ || !reducing_) return;
  ReduceResult result{.communicator_bytes = event.communicator_bytes};
  if (event.minimum.ok()) {
    result.minimum = *event.minimum;
  } else {
    result.failure = std::string(event.minimum.status().message());
  }
  SendReduced(std::move(result));
}

void AgentConduct::SendReduced(ReduceResult result) {
  if (!result.minimum.has_value() && result.failure.empty()) result.failure = "no reason is known";
  result.attempt = attempt_;
  reduced_ = std::move(result);
  if (phase_ == Phase::kMember) Send(*reduced_);
}

void AgentConduct::EndReduction() {
  if (attempt_ == 0) return;
  if (reducing_ || !unique_id_.empty() || !reduced_.has_value()) {
    actions_.push_back(agent::EndReduce{});
  }
  reducing_ = false;
  unique_id_.clear();
  // Remembered, so that a late Reduce of this attempt starts nothing.
  if (!reduced_.has_value()) reduced_ = ReduceResult{.attempt = attempt_, .failure = "ended"};
}

void AgentConduct::OnMessage(const Grants& grants) {
  if (IsCurrent("grants", grants.round)) shares_ = grants.devices;
}

void AgentConduct::OnMessage(const Prepare& prepare) {
  if (!IsCurrent("prepare", prepare.round)) return;
  if (keeping_ == Keeping::kPrepared && prepare.digest == digest_) {
    // We were away: the answer may be lost.
    Send(Prepared{.digest = digest_});
    return;
  }
  if (keeping_ != Keeping::kNothing) return;
  EndReduction();
  const absl::StatusOr<CheckedRecord> checked = check_record_(prepare.record);
  std::string wrong;
  if (!checked.ok()) {
    wrong = std::string(checked.status().message());
  } else if (checked->run_id != config_.hello.run_id || checked->round != round_ ||
             checked->digest != prepare.digest) {
    wrong = absl::StrCat("it is of run ", checked->run_id, ", round ", checked->round,
                         ", with digest ", checked->digest);
  }
  if (!wrong.empty()) {
    Leave(absl::StrCat("the record of round ", round_, " cannot be believed: ", wrong), false,
          kExitNoAgreement);
    return;
  }
  if (IsTrainable()) {
    // Others may start on the new record as soon as all have prepared it.
    actions_.push_back(
        agent::StopTraining{absl::StrCat("round ", round_, " follows round ", trainable_round_)});
    trainable_round_ = 0;
    committed_digest_.clear();
  }
  keeping_ = Keeping::kWriting;
  digest_ = prepare.digest;
  actions_.push_back(
      agent::WritePrepared{.round = round_,
                           .digest = digest_,
                           .record = std::make_shared<const std::string>(prepare.record),
                           .content = checked->record,
                           .shares = shares_});
}

void AgentConduct::On(const agent::PreparedWritten& event) {
  if (event.round != round_ || keeping_ != Keeping::kWriting) return;
  if (!event.status.ok()) {
    Leave(absl::StrCat("the record cannot be written: ", event.status.message()), false,
          kExitInternal);
    return;
  }
  keeping_ = Keeping::kPrepared;
  if (phase_ == Phase::kMember) Send(Prepared{.digest = digest_});
}

void AgentConduct::OnMessage(const Commit& commit) {
  if (!IsCurrent("commit", commit.round)) return;
  if (keeping_ == Keeping::kCommitted && commit.digest == digest_) {
    Send(Committed{.digest = digest_});
  } else if (keeping_ == Keeping::kPrepared && commit.digest == digest_) {
    keeping_ = Keeping::kConfirming;
    trainable_round_ = round_;
    actions_.push_back(agent::WriteCommitted{round_, digest_});
  } else if (keeping_ != Keeping::kConfirming) {
    Say(absl::StrCat("refused to commit round ", round_, ": its record was not prepared here"));
  }
}

void AgentConduct::On(const agent::CommittedWritten& event) {
  const bool present = event.round == round_ && keeping_ == Keeping::kConfirming;
  if (!event.status.ok()) {
    if (!present) return;
    Leave(absl::StrCat("the record cannot be committed: ", event.status.message()), false,
          kExitInternal);
    return;
  }
  if (!present) return;
  keeping_ = Keeping::kCommitted;
  committed_digest_ = digest_;
  committed_round_ = round_;
  Say(absl::StrCat("round ", round_, " is committed"));
  if (phase_ != Phase::kMember) return;
  Send(Committed{.digest = digest_});
  if (config_.once) Finish(kExitOk, absl::StrCat("round ", round_, " is committed"));
}

void AgentConduct::OnMessage(const Abort& abort) {
  if (abort.over) {
    Finish(static_cast<int>(abort.exit_code), abort.reason);
    return;
  }
  if (!IsCurrent("abort", abort.round)) return;
  Say(absl::StrCat("round ", round_, " is aborted: ", abort.reason));
  EndReduction();
  if (keeping_ != Keeping::kWriting && keeping_ != Keeping::kPrepared) return;
  keeping_ = Keeping::kNothing;
  actions_.push_back(agent::WithdrawRecord{round_, abort.reason});
}

}  // namespace autobatch
