#include "autobatch/search/search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/units.h"
#include "autobatch/types/enum_names.h"
#include "autobatch/types/settling.h"

namespace autobatch {
namespace {

// Of what the allocator holds beyond allocations, this share of them lies between blocks in use;
// the rest is cache, which it gives back where memory runs short. VGG-16 reserves twice what it
// allocates, and runs at nearly twice the batch that the reserved peak promises.
constexpr double kBetweenBlocks = 0.03;

// Peaks that differ by no more are the same: what is read from outside, or of a process's whole
// memory, never is twice.
constexpr double kSamePeak = 1.01;

// Whether a trial of more steps than `shorter` needed no more memory.
bool IsNoMore(const Observation& longer, const Observation& shorter) {
  return longer.trial.batch == shorter.trial.batch && longer.StepsRun() > shorter.StepsRun() &&
         static_cast<double>(longer.PeakReserved()) <=
             kSamePeak * static_cast<double>(shorter.PeakReserved());
}

// What a trial that says it ran shows to be wrong with it.
std::optional<Failure> Distrust(const Observation& observation) {
  const TrialSpec& trial = observation.trial;
  if (observation.batch_seen.has_value() && *observation.batch_seen != trial.batch) {
    return Failure{.kind = FailureKind::kBatchIgnored,
                   .message = absl::StrCat("the step ran on a batch of ", *observation.batch_seen,
                                           ", not on the ", trial.batch, " asked for"),
                   .advice = "make the step use the batch it is given"};
  }
  const auto ran = static_cast<int64_t>(observation.steps.size());
  if (ran > 0 && ran < trial.steps) {
    return Failure{.kind = FailureKind::kProtocol,
                   .message = absl::StrCat("only ", ran, " of ", trial.steps, " steps ran")};
  }
  for (const StepObservation& step : observation.steps) {
    if (step.loss.has_value() && !std::isfinite(*step.loss)) {
      return Failure{.kind = FailureKind::kNonFiniteLoss,
                     .message = absl::StrCat("the loss of step ", step.step, " is not finite"),
                     .step = step.step};
    }
  }
  return std::nullopt;
}

Failure OverBudget(const Observation& observation, int64_t budget) {
  return {.kind = FailureKind::kOutOfMemory,
          .message = absl::StrCat("a batch of ", observation.trial.batch, " reserves ",
                                  FormatBytes(observation.PeakReserved()), ", and the budget is ",
                                  FormatBytes(budget))};
}

int64_t SamplesStepped(const Observation& observation) {
  const TrialSpec& trial = observation.trial;
  return trial.batch * trial.accumulation * observation.StepsRun();
}

// What a batch that ran needs, as far as it shows. The allocator tells its cache from the rest on a
// GPU only.
int64_t NeedOf(const Observation& observation) {
  const int64_t reserved = observation.PeakReserved();
  const int64_t allocated = observation.PeakAllocated();
  if (allocated <= 0) return reserved;
  const double need = (1 + kBetweenBlocks) * static_cast<double>(allocated);
  return std::min(reserved, static_cast<int64_t>(need));
}

Bracket::Ran RanOf(const Observation& observation) {
  const TrialSpec& trial = observation.trial;
  const double step_ms = observation.step_ms.value_or(0);
  const double samples = static_cast<double>(trial.batch) * trial.accumulation;
  return {trial.batch, NeedOf(observation), step_ms > 0 ? 1000 * samples / step_ms : 0};
}

}  // namespace

absl::StatusOr<Search> Search::Create(SearchOptions options) {
  AB_RETURN_IF_ERROR(Validate(options));
  AB_ASSIGN_OR_RETURN(BatchRule rule, BatchRule::Create(options.min_batch, options.max_batch,
                                                        options.multiple_of, options.power_of_two));
  options.budget.trials_carry_gradient_buckets = options.gradient_buckets;
  options.budget.trials_run_evaluation = options.evaluation_batch != 0;
  AB_ASSIGN_OR_RETURN(BudgetModel budget, BudgetModel::Create(options.budget));
  Search search(std::move(options), rule, std::move(budget));
  search.Plan();
  return search;
}

Search::Search(SearchOptions options, BatchRule rule, BudgetModel budget)
    : options_(std::move(options)),
      rule_(rule),
      budget_(std::move(budget)),
      first_batch_(options_.min_batch) {
  outcome_.margins = budget_.Margins();
  const std::optional<int64_t>& cached = options_.cached_batch;
  verify_ = cached.has_value() && *cached > 0 && rule_.Floor(*cached) == *cached;
}

void Search::Observe(Observation observation) {
  if (!next_.has_value()) return;
  // The plan is what was asked; the child's echo of it is not needed.
  observation.trial = *next_;
  if (observation.ok()) {
    // A late verdict is kept in the observation, so that reports show why it does not count.
    observation.failure = Distrust(observation);
  }
  again_.reset();
  pace_.Observe(observation);
  budget_.Observe(observation);
  outcome_.margins = budget_.Margins();
  outcome_.samples_stepped += SamplesStepped(observation);
  if (observation.budget_bytes.has_value()) {
    room_bytes_ = *observation.budget_bytes + observation.trial.reserve_bytes;
  } else if (observation.free_before_bytes.has_value()) {
    room_bytes_ = observation.free_before_bytes;
    if (const std::optional<int64_t> limit = budget_.LimitBytes(); limit.has_value()) {
      room_bytes_ = std::min(*room_bytes_, *limit + budget_.ReserveBytes());
    }
  }
  observations_.push_back(std::move(observation));
  const Observation& taken = observations_.back();
  if (taken.ok()) {
    WarnOfChance();
    TakeSuccess(taken);
  } else {
    fresh_from_now_ = true;
    TakeFailure(taken, *taken.failure);
  }
  RecheckConfirmed();
  const absl::StatusOr<EnvelopeFit> fit = FitEnvelope(bracket_.Points());
  fit_.reset();
  if (fit.ok()) fit_ = *fit;
  Plan();
}

void Search::SetTimeLeft(absl::Duration time_left) {
  time_left_ = time_left;
  Plan();
}

void Search::Stop(Failure why) {
  if (over_) return;
  if (unsettled_.has_value()) AcceptUnsettled();
  if (laboured_.has_value()) {
    outcome_.warnings.push_back(absl::StrCat("a batch of ", laboured_->ran.batch,
                                             " was long in warming up, and whether a smaller one "
                                             "runs was not tried any more"));
    Confirm(*std::exchange(laboured_, std::nullopt));
  }
  for (auto it = bracket_.ran().rbegin(); it != bracket_.ran().rend(); ++it) {
    if (bracket_.confirmed().has_value() && it->batch <= bracket_.confirmed()->batch) break;
    outcome_.warnings.push_back(
        absl::StrCat("a batch of ", it->batch,
                     " ran while exploring, but was not confirmed in a fresh process"));
    break;
  }
  stopped_ = std::move(why);
  Finish();
}

void Search::TakeSuccess(const Observation& observation) {
  const TrialSpec& trial = observation.trial;
  const int64_t peak = observation.PeakReserved();
  const std::optional<int64_t> budget = BudgetBytes();
  const bool candidate = trial.purpose != TrialPurpose::kExplore;
  const bool over = budget.has_value() && peak > *budget;
  if (candidate && over && peak <= *room_bytes_ - trial.reserve_bytes && !reconfirmed_) {
    // It kept to its budget, but the trial itself has shown that more must be held back.
    reconfirmed_ = true;
    unsettled_.reset();
    again_ = Spec(trial.purpose, trial.batch);
    return;
  }
  if (over) {
    unsettled_.reset();
    // It ran, so its memory is known, and tells the fit more than a failure would.
    bracket_.AddRan(RanOf(observation));
    TakeCeiling(observation, OverBudget(observation, *budget));
    return;
  }
  if (candidate) {
    TakeCandidate(observation);
  } else {
    bracket_.AddRan(RanOf(observation));
  }
}

void Search::WarnOfChance() {
  if (observations_.size() < 2) return;
  const Observation& before = *std::prev(observations_.end(), 2);
  if (before.ok() || before.trial.batch != observations_.back().trial.batch) return;
  outcome_.warnings.push_back(absl::StrCat("a batch of ", before.trial.batch, " failed once (",
                                           EnumName(before.failure->kind), ": ",
                                           before.failure->message, ") and ran when tried again"));
}

void Search::TakeCandidate(const Observation& observation) {
  const TrialSpec& trial = observation.trial;
  const int64_t steps = observation.StepsRun();
  const Settling settling = SettlingOf(observation.steps);
  const bool calm = settling.IsCalm(options_.confirm_steps);
  const Candidate ran = {RanOf(observation), observations_.size() - 1, room_bytes_};
  // More steps that need no more memory: it did not grow, whatever the trial says of itself.
  const std::optional<Candidate> shorter = std::exchange(unsettled_, std::nullopt);
  const bool unsettled =
      observation.unsettled &&
      !(shorter.has_value() && IsNoMore(observation, observations_[shorter->index]));
  // Most trials go on by themselves; where they cannot, the next one is longer.
  TrialSpec longer = Spec(trial.purpose, trial.batch);
  longer.steps = 2 * steps;
  if ((unsettled || (!calm && settling.calm_steps > 0)) &&
      longer.steps <= kMaxStepsFactor * options_.confirm_steps &&
      IsTimeFor(longer, absl::Milliseconds(observation.trial_ms))) {
    again_ = longer;
    if (calm) unsettled_ = ran;
    return;
  }
  if (!calm) {
    outcome_.warnings.push_back(
        absl::StrCat("a batch of ", trial.batch, " ran, but the allocator gave its cache back ",
                     settling.late_retries, " times after warm-up: training would crawl"));
    TakeCeiling(observation, {.kind = FailureKind::kOutOfMemory,
                              .message = absl::StrCat("a batch of ", trial.batch,
                                                      " runs only with allocator retries")});
    return;
  }
  if (unsettled) WarnOfGrowth(observation);
  Accept(ran);
}

void Search::Accept(const Candidate& candidate) {
  if (laboured_.has_value()) {
    // This was the look below it.
    bracket_.AddRan(candidate.ran);
    Confirm(*std::exchange(laboured_, std::nullopt));
    return;
  }
  const Observation& observation = observations_[candidate.index];
  // What is verified was looked below when it was found.
  verified_ = observation.trial.purpose == TrialPurpose::kVerify;
  const int64_t look = ShortOf(candidate.ran.batch);
  const bool looked = bracket_.confirmed().has_value() && bracket_.confirmed()->batch >= look;
  if (SettlingOf(observation.steps).late_retries > 0 && !verified_ && !looked &&
      look >= first_batch_) {
    laboured_ = candidate;
    return;
  }
  Confirm(candidate);
}

void Search::WarnOfGrowth(const Observation& observation) {
  outcome_.warnings.push_back(
      absl::StrCat("memory still grew after ", observation.StepsRun(), " steps at a batch of ",
                   observation.trial.batch,
                   ": where inputs differ in length or size, let the largest come first in a "
                   "trial, or pad to it; else the answer holds only for what the trials saw"));
}

void Search::AcceptUnsettled() {
  const Candidate candidate = *std::exchange(unsettled_, std::nullopt);
  again_.reset();
  WarnOfGrowth(observations_[candidate.index]);
  Accept(candidate);
}

void Search::Confirm(const Candidate& candidate) {
  bracket_.AddConfirmed(candidate.ran, candidate.index);
  confirmed_room_bytes_ = candidate.room_bytes;
}

void Search::TakeFailure(const Observation& observation, const Failure& failure) {
  const TrialSpec& trial = observation.trial;
  const auto warn = [&](absl::string_view what) {
    outcome_.warnings.push_back(absl::StrCat("a batch of ", trial.batch, " ", what, " (",
                                             EnumName(failure.kind), "): ", failure.message));
  };
  if (RetryOnce(observation)) return;
  switch (failure.kind) {
    case FailureKind::kCancelled:
      Stop(failure);
      return;
    case FailureKind::kBatchIgnored:
    case FailureKind::kCannotStart:
    case FailureKind::kProtocol:
      // Says nothing about this batch, and casts doubt on what other trials would say.
      if (trial.purpose == TrialPurpose::kVerify) {
        verify_ = false;
        warn("was the first guess, and could not be verified");
        return;
      }
      Stop(failure);
      return;
    default:
      break;
  }
  if (trial.purpose == TrialPurpose::kVerify && !IsMemoryCeiling(failure.kind)) {
    verify_ = false;
    warn("was the first guess, and does not run");
    return;
  }
  if (failure.kind == FailureKind::kModelError && failure.phase != TrialPhase::kLoad &&
      trial.batch == 1 && first_batch_ == 1 && rule_.Ceil(2) != INT64_MAX &&
      bracket_.ran().empty()) {
    // Batch norm has no variance over one sample. If 2 fails too, this is the failure to name.
    first_batch_ = 2;
    first_failure_ = failure;
    return;
  }
  TakeCeiling(observation, failure);
}

bool Search::RetryOnce(const Observation& observation) {
  const TrialSpec& trial = observation.trial;
  if (retried_batch_ == trial.batch) believed_ = observation.failure->kind;
  if (retried_batch_ == trial.batch || believed_ == observation.failure->kind) return false;
  bool retry = false;
  switch (observation.failure->kind) {
    case FailureKind::kSuspectedOutOfMemory:
    case FailureKind::kCannotStart:
    case FailureKind::kCrashed:
    case FailureKind::kProtocol:
      // May be chance: frameworks have races of their own, as at a process's exit.
      retry = true;
      break;
    case FailureKind::kOutOfMemory: {
      // A warm process may have failed over a fragmented cache: so it looks where the fit left half
      // of the budget free.
      const std::optional<int64_t> budget = BudgetBytes();
      retry = !trial.fresh_process && budget.has_value() && SureOf(trial.batch) &&
              fit_->Upper(trial.batch) < 0.5 * static_cast<double>(*budget);
      break;
    }
    default:
      break;
  }
  if (!retry) return false;
  retried_batch_ = trial.batch;
  again_ = Spec(trial.purpose, trial.batch);
  return true;
}

void Search::Fail(Failure failure) {
  stopped_ = std::move(failure);
  Finish();
}

void Search::RecheckConfirmed() {
  const std::optional<int64_t> budget = ConfirmedBudgetBytes();
  if (over_ || !bracket_.confirmed().has_value() || !budget.has_value()) return;
  const Observation& confirming = observations_[*bracket_.confirmed_index()];
  if (confirming.PeakReserved() <= *budget) return;
  // A later trial has shown that more must be held back than the confirming one did.
  bracket_.DropConfirmed();
  if (reconfirmed_) {
    TakeCeiling(confirming, OverBudget(confirming, *budget));
    return;
  }
  reconfirmed_ = true;
  again_ = Spec(confirming.trial.purpose, confirming.trial.batch);
}

std::optional<int64_t> Search::LessReserve(std::optional<int64_t> bytes) const {
  if (!bytes.has_value()) return std::nullopt;
  return std::max<int64_t>(*bytes - budget_.ReserveBytes(), 0);
}

}  // namespace autobatch
