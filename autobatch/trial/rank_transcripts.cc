#include "autobatch/trial/rank_transcripts.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/units.h"
#include "autobatch/types/failure.h"

namespace autobatch {
namespace {

// Whatever the ranks claim: at most what the type holds.
int64_t Sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

void Add(const MemoryPeak& more, MemoryPeak& peak) {
  peak.reserved_bytes = Sum(peak.reserved_bytes, more.reserved_bytes);
  peak.allocated_bytes = Sum(peak.allocated_bytes, more.allocated_bytes);
  if (peak.requested_bytes.has_value() && more.requested_bytes.has_value()) {
    peak.requested_bytes = Sum(*peak.requested_bytes, *more.requested_bytes);
  } else {
    peak.requested_bytes.reset();
  }
}

void Add(const std::optional<MemoryPeak>& more, std::optional<MemoryPeak>& peak) {
  if (more.has_value() && peak.has_value()) Add(*more, *peak);
}

// What another rank of the same device adds to an observation.
void Add(const Observation& more, Observation& all) {
  Add(more.first_step, all.first_step);
  Add(more.steady, all.steady);
  Add(more.evaluation, all.evaluation);
  for (size_t i = 0; i < std::min(more.steps.size(), all.steps.size()); ++i) {
    Add(more.steps[i].peak, all.steps[i].peak);
    all.steps[i].retries = Sum(all.steps[i].retries, more.steps[i].retries);
  }
  all.retries = Sum(all.retries, more.retries);
  all.late_retries = Sum(all.late_retries, more.late_retries);
  all.unsettled = all.unsettled || more.unsettled;
  // The one that ran another batch than it was asked for is the one to know of.
  if (more.batch_seen.has_value() && more.batch_seen != all.trial.batch) {
    all.batch_seen = more.batch_seen;
  }
  for (const std::string& warning : more.warnings) {
    if (std::find(all.warnings.begin(), all.warnings.end(), warning) == all.warnings.end()) {
      all.warnings.push_back(warning);
    }
  }
}

}  // namespace

absl::Status RankTranscripts::Append(absl::string_view bytes, const ProgressFunction& progress) {
  lines_.Append(bytes);
  while (true) {
    AB_ASSIGN_OR_RETURN(const std::optional<std::string> line, lines_.Next());
    if (!line.has_value()) return absl::OkStatus();
    AB_ASSIGN_OR_RETURN(const Reply reply, ReadReply(*line));
    AB_RETURN_IF_ERROR(Take(reply));
    const bool told = reply.type == ReplyType::kPhase || reply.type == ReplyType::kStep;
    if (told && progress && reply.rank.value_or(0) == ranks_.begin()->first) progress(reply);
  }
}

absl::Status RankTranscripts::Take(const Reply& reply) {
  const int64_t rank = reply.rank.value_or(0);
  const int64_t world_size = reply.world_size.value_or(1);
  if (rank < 0 || rank >= world_size) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " of ", world_size));
  }
  if (world_size_.value_or(world_size) != world_size) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " speaks of ", world_size,
                                                   " ranks, another of ", *world_size_));
  }
  world_size_ = world_size;
  TrialTranscript& transcript =
      ranks_.try_emplace(rank, asked_, std::nullopt, device_uuid_).first->second;
  if (absl::Status status = transcript.Take(reply); !status.ok()) {
    if (world_size == 1) return status;
    return absl::Status(status.code(), absl::StrCat("rank ", rank, ": ", status.message()));
  }
  if (!hello_.has_value()) hello_ = transcript.hello();
  if (reply.type == ReplyType::kPhase) phase_ = reply.phase;
  if (reply.type == ReplyType::kResult) Combine(/*ended=*/false);
  return absl::OkStatus();
}

void RankTranscripts::End() { Combine(/*ended=*/true); }

void RankTranscripts::Combine(bool ended) {
  if (result_.has_value() || ranks_.empty()) return;
  bool all = ended || static_cast<int64_t>(ranks_.size()) == *world_size_;
  for (const auto& [rank, transcript] : ranks_) {
    if (!transcript.result().has_value()) {
      all = false;
    } else if (!transcript.result()->ok()) {
      result_ = transcript.result();
      if (*world_size_ > 1) {
        result_->failure->message = absl::StrCat("rank ", rank, ": ", result_->failure->message);
      }
      return;
    }
  }
  if (all) result_ = Together();
}

Observation RankTranscripts::Together() const {
  const auto needs_most =
      std::max_element(ranks_.begin(), ranks_.end(), [](const auto& a, const auto& b) {
        return a.second.result()->PeakReserved() < b.second.result()->PeakReserved();
      });
  Observation all = *needs_most->second.result();
  all.trial = asked_;
  for (const auto& [rank, transcript] : ranks_) {
    if (rank != needs_most->first) Add(*transcript.result(), all);
  }
  const auto spoke = static_cast<int64_t>(ranks_.size());
  if (spoke < *world_size_) {
    all.warnings.push_back(absl::StrCat("only ", spoke, " of ", *world_size_,
                                        " ranks reported: the others are not in the figures"));
  }
  if (spoke > 1 && all.budget_bytes.has_value() && all.PeakReserved() > *all.budget_bytes) {
    all.failure =
        Failure{.kind = FailureKind::kOutOfMemory,
                .message = absl::StrCat(
                    "the ", spoke, " ranks on this device held ", FormatBytes(all.PeakReserved()),
                    " together, the budget is ", FormatBytes(*all.budget_bytes)),
                .phase = TrialPhase::kEnd};
  }
  return all;
}

const std::vector<StepObservation>& RankTranscripts::steps() const {
  static const std::vector<StepObservation>& none = *new std::vector<StepObservation>;
  const auto behind =
      std::min_element(ranks_.begin(), ranks_.end(), [](const auto& a, const auto& b) {
        return a.second.steps().size() < b.second.steps().size();
      });
  return behind == ranks_.end() ? none : behind->second.steps();
}

}  // namespace autobatch
