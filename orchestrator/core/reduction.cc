#include "orchestrator/core/reduction.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace autobatch {

Reduction::Reduction(std::vector<ReduceMember> members, int64_t expected, int64_t attempts)
    : members_(std::move(members)), expected_(expected), attempts_(attempts) {
  for (const ReduceMember& member : members_) {
    places_[member.agent] = {.rank_base = world_};
    world_ += member.devices;
  }
}

std::optional<Reduce> Reduction::RequestFor(absl::string_view agent) const {
  const auto place = places_.find(agent);
  if (place == places_.end()) return std::nullopt;
  const bool root = agent == members_.front().agent;
  if (state_ != State::kResults && !(state_ == State::kId && root)) return std::nullopt;
  return Reduce{.attempt = attempt_,
                .unique_id = unique_id_,
                .rank_base = place->second.rank_base,
                .world = world_};
}

bool Reduction::OnId(absl::string_view agent, const ReduceId& id) {
  if (state_ != State::kId || id.attempt != attempt_ || agent != members_.front().agent) {
    return false;
  }
  unique_id_ = id.unique_id;
  state_ = State::kResults;
  return true;
}

bool Reduction::OnResult(absl::string_view agent, const ReduceResult& result) {
  if ((state_ != State::kResults && state_ != State::kId) || result.attempt != attempt_) {
    return false;
  }
  const auto place = places_.find(agent);
  if (place == places_.end() || place->second.answered) return false;
  if (!result.minimum.has_value()) {
    Fail(absl::StrCat(agent, ": ", result.failure));
    return true;
  }
  // A minimum before there was an id is none.
  if (state_ == State::kId) return false;
  if (*result.minimum != expected_) {
    reason_ = absl::StrCat("the minimum differs: ", expected_, " by the reports, ", *result.minimum,
                           " by NCCL on ", agent,
                           "; a rank's number was lost or changed on one of the two ways");
    state_ = State::kDiffers;
    return true;
  }
  place->second.answered = true;
  if (result.communicator_bytes.has_value()) {
    communicator_bytes_ = std::max(communicator_bytes_.value_or(0), *result.communicator_bytes);
  }
  if (++answers_ < places_.size()) return false;
  state_ = State::kAgreed;
  return true;
}

void Reduction::Fail(std::string reason) {
  reason_ = std::move(reason);
  if (attempt_ == attempts_) {
    state_ = State::kFailed;
    return;
  }
  ++attempt_;
  state_ = State::kId;
  unique_id_.clear();
  answers_ = 0;
  for (auto& [agent, place] : places_) place.answered = false;
}

std::vector<std::string> Reduction::Missing() const {
  if (state_ == State::kId) return {members_.front().agent};
  std::vector<std::string> missing;
  for (const ReduceMember& member : members_) {
    if (!places_.at(member.agent).answered) missing.push_back(member.agent);
  }
  return missing;
}

}  // namespace autobatch
