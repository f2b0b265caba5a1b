#include "autobatch/trial/rank_transcripts.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
  return ReadReplies(
      lines_, bytes, [this](const Reply& reply) { return Take(reply); },
      [&](const Reply& reply) {
        if (progress && reply.rank.value_or(0) == ranks_.begin()->first) progress(reply);
      });
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
  // Of several devices the transcript knows none: which one it is, is known at the result.
  const std::string only = device_uuids_.size() == 1 ? device_uuids_[0] : "";
  const auto fresh = Rank{TrialTranscript(asked_, std::nullopt, only), std::nullopt};
  Rank& speaker = ranks_.try_emplace(rank, fresh).first->second;
  absl::Status status = speaker.transcript.Take(reply);
  if (status.ok() && reply.hello.has_value()) {
    status = CheckDevice(*reply.hello);
    speaker.device = reply.hello;
  }
  if (!status.ok()) {
    if (world_size == 1) return status;
    return absl::Status(status.code(), absl::StrCat("rank ", rank, ": ", status.message()));
  }
  if (!hello_.has_value()) hello_ = speaker.transcript.hello();
  if (reply.type == ReplyType::kPhase) phase_ = reply.phase;
  if (reply.type == ReplyType::kResult) Combine(/*ended=*/false);
  return absl::OkStatus();
}

absl::Status RankTranscripts::CheckDevice(const Hello& hello) const {
  if (!hello.device_uuid.has_value() || device_uuids_.size() == 1) return absl::OkStatus();
  for (const std::string& uuid : device_uuids_) {
    if (absl::EqualsIgnoreCase(uuid, *hello.device_uuid)) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("it runs on ", *hello.device_uuid, ", which is not of this trial"));
}

size_t RankTranscripts::DeviceOf(int64_t rank) const {
  const std::optional<Hello>& said = ranks_.at(rank).device;
  if (said.has_value() && said->device_uuid.has_value()) {
    for (size_t device = 0; device < device_uuids_.size(); ++device) {
      if (absl::EqualsIgnoreCase(device_uuids_[device], *said->device_uuid)) return device;
    }
  }
  const auto devices = static_cast<int64_t>(device_uuids_.size());
  if (said.has_value() && said->device_index.has_value() && *said->device_index >= 0 &&
      *said->device_index < devices) {
    return *said->device_index;
  }
  // As launchers place them.
  return rank % devices;
}

void RankTranscripts::End() { Combine(/*ended=*/true); }

void RankTranscripts::Combine(bool ended) {
  if (done_ || ranks_.empty()) return;
  bool all = ended || spoke() == *world_size_;
  for (const auto& [rank, speaker] : ranks_) {
    const std::optional<Observation>& result = speaker.transcript.result();
    if (!result.has_value()) {
      all = false;
    } else if (!result->ok()) {
      failed_ = DeviceOf(rank);
      results_[*failed_] = result;
      if (*world_size_ > 1) {
        Failure& failure = *results_[*failed_]->failure;
        failure.message = absl::StrCat("rank ", rank, ": ", failure.message);
      }
      done_ = true;
      return;
    }
  }
  done_ = all;
  if (!done_) return;
  for (size_t device = 0; device < results_.size(); ++device) results_[device] = Together(device);
}

std::optional<Observation> RankTranscripts::Together(size_t device) const {
  std::vector<const Observation*> here;
  for (const auto& [rank, speaker] : ranks_) {
    if (DeviceOf(rank) == device) here.push_back(&*speaker.transcript.result());
  }
  if (here.empty()) return std::nullopt;
  const auto needs_most = std::max_element(
      here.begin(), here.end(),
      [](const auto* a, const auto* b) { return a->PeakReserved() < b->PeakReserved(); });
  Observation all = **needs_most;
  all.trial = asked_;
  all.ranks = static_cast<int64_t>(here.size());
  for (const Observation* one : here) {
    if (one != *needs_most) Add(*one, all);
  }
  if (const std::string missing = MissingRanks(); !missing.empty()) all.warnings.push_back(missing);
  if (here.size() > 1 && all.budget_bytes.has_value() && all.PeakReserved() > *all.budget_bytes) {
    all.failure = Failure{
        .kind = FailureKind::kOutOfMemory,
        .message = absl::StrCat("the ", here.size(), " ranks on this device held ",
                                FormatBytes(all.PeakReserved()), " together, the budget is ",
                                FormatBytes(*all.budget_bytes)),
        .phase = TrialPhase::kEnd};
  }
  return all;
}

std::string RankTranscripts::MissingRanks() const {
  constexpr size_t kNamed = 8;
  std::vector<std::string> missing;
  for (int64_t rank = 0; rank < *world_size_ && missing.size() <= kNamed; ++rank) {
    if (ranks_.count(rank) == 0) missing.push_back(absl::StrCat(rank));
  }
  if (missing.empty()) return "";
  if (missing.size() > kNamed) missing.back() = "…";
  return absl::StrCat("only ", spoke(), " of ", *world_size_, " ranks reported (not ",
                      absl::StrJoin(missing, ", "), "): the others are not in the figures");
}

const std::vector<StepObservation>& RankTranscripts::steps() const {
  static const std::vector<StepObservation>& none = *new std::vector<StepObservation>;
  const auto behind =
      std::min_element(ranks_.begin(), ranks_.end(), [](const auto& a, const auto& b) {
        return a.second.transcript.steps().size() < b.second.transcript.steps().size();
      });
  return behind == ranks_.end() ? none : behind->second.transcript.steps();
}

}  // namespace autobatch
