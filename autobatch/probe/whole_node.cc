#include "autobatch/probe/whole_node.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "autobatch/base/status_macros.h"
#include "autobatch/probe/device_probe.h"
#include "autobatch/probe/device_result.h"

namespace autobatch {
namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

// What a search on this device would hold back.
absl::StatusOr<BudgetModel> BudgetFor(const ProbeSpec& spec, const Device& device,
                                      int64_t devices) {
  const SearchOptions options = SearchOptionsFor(spec, device, devices, std::nullopt);
  BudgetOptions budget = options.budget;
  budget.trials_carry_gradient_buckets = options.gradient_buckets;
  budget.trials_run_evaluation = options.evaluation_batch != 0;
  return BudgetModel::Create(std::move(budget));
}

int64_t RoomOf(const Device& device) {
  return device.memory.free_bytes.value_or(device.memory.total_bytes.value_or(kUnknown));
}

// The trial that stands for the answer: the last one that ran it in a fresh process.
std::optional<size_t> Confirming(const DeviceResult& whole) {
  std::optional<size_t> confirming;
  for (size_t i = 0; i < whole.observations.size(); ++i) {
    const Observation& seen = whole.observations[i];
    const bool fresh = seen.trial.purpose != TrialPurpose::kExplore;
    if (seen.ok() && fresh && seen.trial.batch == whole.confirmed_batch) confirming = i;
  }
  return confirming;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WholeNode>> WholeNode::Create(const ProbeSpec& spec,
                                                             std::span<const Device> devices,
                                                             NodeTrialRunner& runner, Told told) {
  std::vector<Share> shares;
  size_t narrowest = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    AB_ASSIGN_OR_RETURN(BudgetModel budget,
                        BudgetFor(spec, devices[i], static_cast<int64_t>(devices.size())));
    shares.push_back({.budget = std::move(budget)});
    if (RoomOf(devices[i]) < RoomOf(devices[narrowest])) narrowest = i;
  }
  return std::unique_ptr<WholeNode>(
      new WholeNode(devices, runner, std::move(told), std::move(shares), narrowest));
}

absl::StatusOr<Observation> WholeNode::Run(const TrialSpec& trial, SteadyTime deadline,
                                           const ProgressFunction& progress) {
  std::vector<TrialSpec> specs;
  for (const Share& share : shares_) {
    specs.push_back(trial);
    specs.back().limit_bytes = share.budget.LimitBytes();
    specs.back().reserve_bytes = share.budget.ReserveBytes();
  }
  AB_ASSIGN_OR_RETURN(NodeObservation seen, runner_.Run(specs, deadline, progress));
  for (size_t i = 0; i < shares_.size(); ++i) seen.devices[i].trial = specs[i];
  if (told_) told_(seen.devices);
  failed_.emplace_back();
  if (!seen.devices[seen.failed].ok()) failed_.back() = seen.failed;
  for (size_t i = 0; i < shares_.size(); ++i) {
    shares_[i].budget.Observe(seen.devices[i]);
    shares_[i].observations.push_back(std::move(seen.devices[i]));
  }
  const size_t last = failed_.size() - 1;
  const Share& fullest = shares_[failed_.back().value_or(Fullest(last))];
  Observation told = fullest.observations[last];
  searchs_.Observe(told);
  // The search takes its own margins off what was free: so that what is left by them is what this
  // device's margins leave of it.
  if (const std::optional<int64_t> budget = fullest.BudgetOf(told); budget.has_value()) {
    told.budget_bytes = *budget + searchs_.ReserveBytes() - trial.reserve_bytes;
  }
  return told;
}

std::optional<int64_t> WholeNode::Share::BudgetOf(const Observation& seen) const {
  if (!seen.budget_bytes.has_value()) return std::nullopt;
  return std::max<int64_t>(0,
                           *seen.budget_bytes + seen.trial.reserve_bytes - budget.ReserveBytes());
}

size_t WholeNode::Fullest(size_t trial) const {
  const auto left = [trial](const Share& share) {
    const Observation& seen = share.observations[trial];
    return share.BudgetOf(seen).value_or(kUnknown / 2) - seen.PeakReserved();
  };
  const auto fullest =
      std::min_element(shares_.begin(), shares_.end(),
                       [&](const Share& a, const Share& b) { return left(a) < left(b); });
  return fullest - shares_.begin();
}

size_t WholeNode::Setter(const DeviceResult& whole) const {
  if (failed_.empty()) return narrowest_;
  size_t deciding = failed_.size() - 1;
  if (const std::optional<size_t> confirming = Confirming(whole); confirming.has_value()) {
    deciding = *confirming;
    for (size_t i = 0; i < whole.observations.size(); ++i) {
      if (whole.observations[i].trial.batch == whole.smallest_failing_batch) deciding = i;
    }
  }
  return failed_[deciding].value_or(Fullest(deciding));
}

std::vector<DeviceResult> WholeNode::Split(const DeviceResult& whole) const {
  const std::optional<size_t> confirming = Confirming(whole);
  const size_t setter = Setter(whole);
  std::vector<DeviceResult> results;
  for (size_t i = 0; i < devices_.size(); ++i) {
    DeviceResult result = whole;
    result.device = devices_[i];
    result.observations = shares_[i].observations;
    for (size_t trial = 0; trial < whole.observations.size(); ++trial) {
      // The search may have found fault with one that ran.
      const std::optional<Failure>& verdict = whole.observations[trial].failure;
      if (result.observations[trial].ok()) result.observations[trial].failure = verdict;
    }
    result.margins = shares_[i].budget.Margins();
    if (confirming.has_value()) {
      const Observation& confirmed = result.observations[*confirming];
      result.budget_bytes = shares_[i].BudgetOf(confirmed);
      AddConfirmed(confirmed, result);
    } else if (!result.observations.empty()) {
      result.budget_bytes = shares_[i].BudgetOf(result.observations.back());
    }
    if (i != setter) {
      // What the search says is said once.
      result.warnings.clear();
      result.fit.reset();
      const bool set_there = result.bound == BatchBound::kMemory ||
                             result.bound == BatchBound::kFailure ||
                             result.bound == BatchBound::kNone;
      if (set_there) result.bound = BatchBound::kOtherDevice;
      AddTrialWarnings(result);
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace autobatch
