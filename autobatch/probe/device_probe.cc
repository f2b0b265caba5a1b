#include "autobatch/probe/device_probe.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/probe/device_result.h"
#include "autobatch/search/search.h"

namespace autobatch {
namespace {

// The trials of a whole node hold what a data-parallel run holds: nothing need be held back for it.
void AddWhatRanksHold(const ProbeSpec& spec, int64_t devices, int64_t world_size,
                      BudgetOptions& budget) {
  // Ranks on other nodes are reached by buffers that no trial here has.
  if (!spec.communicator_bytes.has_value() && world_size <= devices) {
    budget.given.push_back({.name = kCommunicator,
                            .bytes = 0,
                            .source = MarginSource::kMeasured,
                            .note = "the trials run the ranks of this node with their "
                                    "communicators: they are in what is measured"});
  }
  budget.given.push_back({.name = kGradientBuckets,
                          .bytes = 0,
                          .source = MarginSource::kMeasured,
                          .note = "the trials run data-parallel as training does: what it holds is "
                                  "in their peak"});
}

BudgetOptions BudgetOptionsFor(const ProbeSpec& spec, const Device& device, int64_t devices,
                               int64_t world_size) {
  BudgetOptions budget{.device = device.kind,
                       .total_bytes = device.memory.total_bytes,
                       .world_size = world_size,
                       .memory_limit_bytes = spec.memory_limit_bytes,
                       .headroom_bytes = spec.headroom_bytes,
                       .headroom_fraction = spec.headroom_fraction};
  // The CPU is a device only within a budget: what its listing calls free.
  if (device.kind == DeviceKind::kCpu && device.memory.free_bytes.has_value()) {
    budget.memory_limit_bytes = device.memory.free_bytes;
  }
  if (spec.communicator_bytes.has_value()) {
    budget.given.push_back({.name = kCommunicator,
                            .bytes = *spec.communicator_bytes,
                            .source = MarginSource::kDeclared,
                            .note = "--communicator"});
  }
  if (spec.scope == TrialScope::kNode && world_size > 1)
    AddWhatRanksHold(spec, devices, world_size, budget);
  return budget;
}

Failure TimeIsUp(absl::Duration limit) {
  return Failure{.kind = FailureKind::kTimeout,
                 .message = absl::StrCat("the time limit of ", absl::FormatDuration(limit),
                                         " for this device was up"),
                 .advice = "give it more with --time-limit, or make the step cheaper"};
}

// What the search found, as a device's result.
DeviceResult ToResult(const Device& device, const Search& search) {
  const SearchOutcome& found = search.outcome();
  DeviceResult result{.device = device,
                      .strategy = Strategy::kConfirm,
                      .status = found.status,
                      .confirmed_batch = found.confirmed_batch,
                      .bound = found.bound,
                      .budget_bytes = found.budget_bytes,
                      .margins = found.margins,
                      .smallest_failing_batch = found.smallest_failing_batch,
                      .fit = found.fit,
                      .failure = found.failure,
                      .warnings = found.warnings,
                      .observations = search.observations(),
                      .samples_stepped = found.samples_stepped};
  AddTrialWarnings(result);
  DoubtUnusedBatch(result);
  if (!found.confirming_observation.has_value()) return result;
  AddConfirmed(result.observations[*found.confirming_observation], result);
  return result;
}

}  // namespace

std::optional<FirstGuess> GuessFrom(const DeviceResult& result) {
  if (result.status != ResultStatus::kConfirmed || !result.confirmed_batch.has_value()) {
    return std::nullopt;
  }
  FirstGuess guess{.batch = *result.confirmed_batch, .bound = result.bound};
  for (const Margin& margin : result.margins) {
    // The others follow from the settings and come back by themselves.
    const bool learned = margin.name == kContextGrowth || margin.name == kCommunicator;
    if (learned && margin.source == MarginSource::kMeasured) guess.measured.push_back(margin);
  }
  return guess;
}

SearchOptions SearchOptionsFor(const ProbeSpec& spec, const Device& device, int64_t devices,
                               const std::optional<FirstGuess>& first_guess) {
  const int64_t world_size = WorldSize(spec, devices);
  SearchOptions options{
      .precision = std::min(spec.tolerance, 0.5),
      .max_batch = spec.max_batch,
      .multiple_of = spec.multiple_of,
      .power_of_two = spec.power_of_two,
      .explore_steps = spec.explore_steps,
      .confirm_steps = spec.confirm_steps,
      .accumulation = spec.accumulation,
      // A command has what its own code has.
      .gradient_buckets = world_size > 1 && spec.workload.kind != WorkloadKind::kCommand,
      .evaluation_batch = spec.workload.evaluation_batch,
      .seed = spec.seed,
      .budget = BudgetOptionsFor(spec, device, devices, world_size)};
  if (first_guess.has_value()) {
    options.cached_batch = first_guess->batch;
    options.cached_bound = first_guess->bound;
    for (const Margin& margin : first_guess->measured) {
      const bool declared = margin.name == kCommunicator && spec.communicator_bytes.has_value();
      if (!declared) options.budget.given.push_back(margin);
    }
  }
  if (spec.throughput_knee) options.throughput_knee = 0.05;
  const int64_t share = spec.dataset_size.value_or(spec.max_batch * world_size) / world_size;
  if (share < options.max_batch) {
    options.max_batch = share;
    options.max_batch_bound = BatchBound::kDataset;
  }
  return options;
}

absl::StatusOr<DeviceResult> ProbeDevice(const ProbeSpec& spec, const Device& device,
                                         int64_t devices,
                                         const std::optional<FirstGuess>& first_guess,
                                         const DeviceProbeParts& parts) {
  AB_ASSIGN_OR_RETURN(Search search,
                      Search::Create(SearchOptionsFor(spec, device, devices, first_guess)));
  const absl::Duration limit = TimeLimitFor(spec, device);
  const SteadyTime start = parts.clock.Now();
  const SteadyTime deadline = Add(start, limit);
  const bool limited = limit < absl::InfiniteDuration();
  if (limited) search.SetTimeLeft(limit);
  std::optional<Observation> cut_short;
  while (const std::optional<TrialSpec> trial = search.NextTrial()) {
    if (std::optional<Failure> why = parts.stopped(); why.has_value()) {
      search.Stop(*std::move(why));
      break;
    }
    const SteadyTime now = parts.clock.Now();
    if (now >= deadline) {
      search.Stop(TimeIsUp(limit));
      break;
    }
    ProgressFunction progress;
    if (parts.on_progress) {
      progress = [&](const Reply& reply) { parts.on_progress(*trial, reply); };
    }
    const SteadyTime trial_deadline =
        std::min(deadline, Add(now, std::min(spec.trial_timeout, search.TimeForNext())));
    AB_ASSIGN_OR_RETURN(Observation seen, parts.runner.Run(*trial, trial_deadline, progress));
    if (parts.on_trial) parts.on_trial(seen);
    const bool cancelled =
        seen.failure.has_value() && seen.failure->kind == FailureKind::kCancelled;
    const bool time_is_up = parts.clock.Now() >= deadline;
    if (cancelled || (time_is_up && !seen.ok())) {
      // Not the workload's fault: the search must not take it for a ceiling.
      search.Stop(parts.stopped().value_or(TimeIsUp(limit)));
      cut_short = std::move(seen);
      break;
    }
    search.Observe(std::move(seen));
    if (limited) search.SetTimeLeft(Between(parts.clock.Now(), deadline));
  }
  DeviceResult result = ToResult(device, search);
  if (cut_short.has_value()) result.observations.push_back(*std::move(cut_short));
  result.elapsed_ms = absl::ToDoubleMilliseconds(Between(start, parts.clock.Now()));
  return result;
}

}  // namespace autobatch
