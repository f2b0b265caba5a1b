#include "tests/sim/ledger.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/types/json.h"
#include "orchestrator/plan/record.h"

namespace autobatch::sim {

void Ledger::OnReport(const std::string& agent, int64_t round,
                      const std::vector<DeviceOutcome>& devices) {
  Batches& batches = reported_[{agent, round}].emplace_back();
  for (const DeviceOutcome& device : devices) {
    if (device.batch > 0) batches[device.uuid] = device.batch;
  }
}

void Ledger::Violate(std::string what) { violations_.push_back(std::move(what)); }

void Ledger::OnDisk(const CoordinatorState& state) {
  if (state.round < round_on_disk_) {
    Violate(absl::StrCat("rounds go back: ", state.round, " after ", round_on_disk_));
  }
  round_on_disk_ = state.round;
  if (state.committed_round > state.round) {
    Violate(absl::StrCat("committed round ", state.committed_round, " of ", state.round));
  }
  if (state.committed_round == 0) return;
  Decision decision{.digest = state.committed_digest};
  for (const StateMember& member : state.members) decision.members.insert(member.agent);
  const auto [found, is_new] = decided_.try_emplace(state.committed_round, decision);
  if (!is_new && found->second.digest != decision.digest) {
    Violate(absl::StrCat("round ", state.committed_round, " has two records"));
  }
  if (is_new && state.committed_round != decided_.rbegin()->first) {
    Violate(absl::StrCat("round ", state.committed_round, " is decided after ",
                         decided_.rbegin()->first));
  }
}

void Ledger::OnRoundEnded(const coordinator::RoundEnded& ended) {
  if (!ended.committed) return;
  const std::string round = absl::StrCat("round ", ended.round);
  const absl::StatusOr<Record> record = FromJson<Record>(*ended.record);
  if (!record.ok()) return Violate(absl::StrCat(round, ": ", record.status().ToString()));
  if (record->round != ended.round || record->digest != ended.digest) {
    Violate(absl::StrCat(round, " commits a record of round ", record->round));
  }
  int64_t minimum = 0;
  int64_t devices = 0;
  for (const NodeOutcomes& node : ended.nodes) {
    Batches batches;
    for (const DeviceOutcome& device : node.devices) {
      // What cannot train may be left out, by policy.
      if (device.batch == 0) continue;
      batches[device.uuid] = device.batch;
      minimum = minimum == 0 ? device.batch : std::min(minimum, device.batch);
      ++devices;
    }
    const std::vector<Batches>& own = reported_[{node.node, ended.round}];
    if (std::find(own.begin(), own.end(), batches) == own.end()) {
      Violate(absl::StrCat(round, " counts a report of ", node.node,
                           " that no agent of this name sent for it"));
    }
  }
  if (record->minimum_batch != minimum || record->world_size != devices) {
    Violate(absl::StrCat(round, ": the record says ", record->minimum_batch, " on ",
                         record->world_size, " ranks, its reports ", minimum, " on ", devices));
  }
}

void Ledger::OnTrainingStarts(const std::string& agent, const std::string& incarnation,
                              int64_t round, const std::string& digest) {
  const std::string what = absl::StrCat(agent, " (", incarnation, ") starts on round ", round);
  const auto decision = decided_.find(round);
  if (decision == decided_.end()) {
    Violate(absl::StrCat(what, ", which nobody committed"));
  } else if (decision->second.digest != digest) {
    Violate(absl::StrCat(what, " with a record that was not the committed one"));
  } else if (!decision->second.members.contains(agent)) {
    Violate(absl::StrCat(what, " without being a member of it"));
  }
  if (training_.contains(agent)) {
    Violate(absl::StrCat(what, " while its processes of round ", training_[agent], " run"));
  }
  if (last_start_[agent] > round) {
    Violate(absl::StrCat(what, " after round ", last_start_[agent]));
  }
  if (newest_start_ > round) {
    Violate(absl::StrCat(what, " after others have started on round ", newest_start_));
  }
  newest_start_ = std::max(newest_start_, round);
  last_start_[agent] = round;
  training_[agent] = round;
}

void Ledger::OnTrainingEnds(const std::string& agent) { training_.erase(agent); }

}  // namespace autobatch::sim
