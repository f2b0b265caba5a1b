// What is next: which batch, why, and when it is enough.

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "autobatch/search/search.h"

namespace autobatch {
namespace {

// Nothing is extrapolated further than this from the largest batch that ran; half of it unless a
// fit says that the line goes on.
constexpr int64_t kGrowth = 4;
constexpr int64_t kUnsureGrowth = 2;
// Below this many samples one of them is more than 5 %, and worth a trial even where the line says
// that half of its memory is missing.
constexpr int64_t kFewSamples = 20;
constexpr double kFewSamplesDoubt = 0.5;
// This part of what an answer may fall short by is not worth a trial of its own.
constexpr int64_t kHair = 4;
// After so many trials the workload answers at random, or the range is absurd: what ran is
// confirmed, and after some more it is the end.
constexpr size_t kSettleAfter = 48;
constexpr size_t kMaxTrials = 64;

Failure TimeIsUp() {
  return {.kind = FailureKind::kTimeout,
          .message = "the time left is too short for the next trial",
          .advice = "raise the time limit"};
}

}  // namespace

void Search::Plan() {
  if (over_) return;
  next_.reset();
  if (verified_) return Finish();
  if (again_.has_value() && unsettled_.has_value() && !IsTimeFor(*again_, absl::ZeroDuration())) {
    AcceptUnsettled();
    return Plan();
  }
  if (again_.has_value()) {
    if (!IsTimeFor(*again_, absl::ZeroDuration())) return Stop(TimeIsUp());
    next_ = again_;
    return;
  }
  if (verify_) return Propose(TrialPurpose::kVerify, *options_.cached_batch);
  if (bracket_.ran().empty() && first_batch_ <= options_.max_batch) {
    return Propose(TrialPurpose::kExplore, first_batch_);
  }
  if (observations_.size() >= kMaxTrials) {
    return Stop(Failure{.kind = FailureKind::kProtocol,
                        .message = absl::StrCat("no answer after ", kMaxTrials, " trials"),
                        .advice = "the workload's memory or failures change from run to run"});
  }
  Choice choice = Choose();
  if (choice.batch == 0) return Finish();
  FitIntoTime(choice);
}

Search::Choice Search::Choose() const {
  if (laboured_.has_value()) return {TrialPurpose::kConfirm, ShortOf(laboured_->ran.batch)};
  const int64_t confirmed = bracket_.confirmed().has_value() ? bracket_.confirmed()->batch : 0;
  const auto confirm = [&](int64_t batch) {
    return Choice{TrialPurpose::kConfirm, batch > confirmed ? batch : 0};
  };
  const int64_t below = bracket_.ceiling().has_value() ? bracket_.ceiling()->batch - 1 : INT64_MAX;
  const int64_t most = rule_.Floor(std::min(below, rule_.Greatest()));
  if (most == 0 || most <= confirmed) return {};
  if (const int64_t knee = KneeBatch(); knee > 0 && knee <= most) return confirm(knee);
  const std::optional<Bracket::Ran> largest = bracket_.Largest();
  if (!largest.has_value()) return confirm(rule_.Least());

  const int64_t good = rule_.Floor(largest->batch);
  const int64_t better = rule_.Ceil(largest->batch + Width(largest->batch));
  const bool settle = observations_.size() >= kSettleAfter;
  if (good > 0 && (settle || better > most || !WorthTrying(better))) return confirm(good);
  if (good == 0 && better > most) return confirm(rule_.Least());

  // Memory grows at most in proportion to the batch, as it begins above zero. If even so all that
  // may be asked fits, there is nothing to explore.
  const std::optional<int64_t> budget = BudgetBytes();
  if (!bracket_.ceiling().has_value() && budget.has_value() &&
      static_cast<double>(largest->peak_bytes) * static_cast<double>(most) <=
          static_cast<double>(*budget) * static_cast<double>(largest->batch)) {
    return confirm(most);
  }
  const int64_t guess = Guess(*largest);
  const int64_t grown = Growth(*largest) * largest->batch;
  if (const int64_t aim = std::min(guess, most); aim > grown) {
    // In two even steps rather than a large and a small one: it costs fewer samples.
    const double even = std::sqrt(static_cast<double>(largest->batch) * static_cast<double>(aim));
    return {TrialPurpose::kExplore, std::min(grown, static_cast<int64_t>(std::ceil(even)))};
  }
  int64_t batch = std::clamp(rule_.Floor(guess), better, most);
  // Where it fails, `better` would be next, for a hair's breadth: it goes first then, and its own
  // failure is the end.
  if (bracket_.ceiling().has_value() && batch - better < Width(better) / kHair) batch = better;
  // A trial that can be the last one confirms at once.
  const int64_t end = std::min(below, NearbyGuess(*largest));
  const bool last = end < INT64_MAX && end - batch < Width(batch);
  if (last || batch == most || SureOf(batch)) return confirm(batch);
  return {TrialPurpose::kExplore, batch};
}

int64_t Search::Guess(const Bracket::Ran& largest) const {
  int64_t guess = INT64_MAX;
  const std::optional<int64_t> budget = BudgetBytes();
  if (budget.has_value() && fit_.has_value()) {
    guess = std::max(fit_->LargestWithin(*budget), largest.batch);
  }
  const int64_t nearby = NearbyGuess(largest);
  const int64_t ceiling = bracket_.ceiling().has_value() ? bracket_.ceiling()->batch : INT64_MAX;
  const auto between = [&](int64_t upper) { return largest.batch + (upper - largest.batch) / 2; };
  if (bracket_.failures_in_a_row() == 0) {
    // The upper edge of the band may lie far below what is left, and would be approached in steps
    // that grow ever smaller: take half of what is left at least.
    const int64_t upper = std::min(ceiling, nearby);
    if (upper < INT64_MAX) guess = std::max(guess, between(upper));
    return guess < ceiling ? guess : between(ceiling);
  }
  if (!broken_promise_) return std::min(guess, between(ceiling));
  // A fit that was sure has promised too much. A hole is passed by a small step down, a change of
  // algorithm is not: steps double, up to halving the bracket.
  const int64_t doublings = std::min<int64_t>(bracket_.failures_in_a_row() - 1, 30);
  const int64_t down = doublings == 0 ? ShortOf(ceiling) : ceiling - (Width(ceiling) << doublings);
  return std::min(guess, std::max(between(ceiling), down));
}

int64_t Search::NearbyGuess(const Bracket::Ran& largest) const {
  const std::optional<int64_t> budget = BudgetBytes();
  if (!budget.has_value() || !fit_.has_value()) return INT64_MAX;
  const double left = static_cast<double>(*budget - largest.peak_bytes);
  const double more = left / fit_->Summary().slope_bytes_per_sample;
  // Further away the line itself is the better guide.
  if (!(more <= 0.5 * static_cast<double>(largest.batch))) return INT64_MAX;
  return largest.batch + static_cast<int64_t>(more);
}

int64_t Search::Growth(const Bracket::Ran& largest) const {
  const std::optional<int64_t> budget = BudgetBytes();
  if (!budget.has_value()) return kUnsureGrowth;
  if (SureOf(kGrowth * largest.batch)) return kGrowth;
  // As far as proportion allows.
  return std::clamp(*budget / std::max<int64_t>(largest.peak_bytes, 1), kUnsureGrowth, kGrowth);
}

int64_t Search::Width(int64_t batch) const {
  return std::max<int64_t>(1,
                           static_cast<int64_t>(options_.precision * static_cast<double>(batch)));
}

int64_t Search::ShortOf(int64_t batch) const {
  const int64_t below = batch - Width(batch);
  return below + Width(below) < batch ? below + 1 : below;
}

bool Search::WorthTrying(int64_t batch) const {
  const std::optional<int64_t> budget = BudgetBytes();
  if (!budget.has_value() || bracket_.ran().size() < 2) return true;
  // From the largest that ran, which is nearer than the line.
  const Bracket::Ran from = *bracket_.Largest();
  const Bracket::Ran& first = bracket_.ran().front();
  if (from.batch == first.batch) return true;
  const double secant = static_cast<double>(from.peak_bytes - first.peak_bytes) /
                        static_cast<double>(from.batch - first.batch);
  const double slope = fit_.has_value() ? fit_->Summary().slope_bytes_per_sample : secant;
  double growth = slope * static_cast<double>(batch - from.batch);
  if (from.batch < kFewSamples) growth *= kFewSamplesDoubt;
  return static_cast<double>(from.peak_bytes) + growth <= static_cast<double>(*budget);
}

bool Search::SureOf(int64_t batch) const {
  if (!fit_.has_value()) return false;
  const FitSummary& fit = fit_->Summary();
  // Two points have no residual, and a wider band would let the answer fall short by as much.
  return fit.points >= 3 && fit.band_bytes <= options_.precision * fit.slope_bytes_per_sample *
                                                  static_cast<double>(batch);
}

int64_t Search::KneeBatch() const {
  if (!options_.throughput_knee.has_value()) return 0;
  const std::vector<Bracket::Ran>& ran = bracket_.ran();
  for (size_t i = 1; i < ran.size(); ++i) {
    const double doublings = std::log2(static_cast<double>(ran[i].batch) / ran[i - 1].batch);
    // Batches that lie close together differ by noise.
    if (doublings < 0.5 || ran[i].rate <= 0 || ran[i - 1].rate <= 0) continue;
    const double gain = std::pow(1 + *options_.throughput_knee, doublings);
    if (ran[i].rate < gain * ran[i - 1].rate) {
      return std::max(rule_.Floor(ran[i - 1].batch), rule_.Least());
    }
  }
  return 0;
}

void Search::FitIntoTime(Choice choice) {
  const TrialSpec trial = Spec(choice.purpose, choice.batch);
  if (time_left_.has_value()) {
    const TrialSpec confirm = Spec(TrialPurpose::kConfirm, choice.batch);
    absl::Duration need = pace_.Estimate(confirm).value_or(absl::ZeroDuration());
    if (choice.purpose == TrialPurpose::kExplore) {
      need += pace_.Estimate(trial).value_or(absl::ZeroDuration());
    }
    if (need > *time_left_ - Fallback(choice.batch)) {
      if (laboured_.has_value()) return Stop(TimeIsUp());
      const int64_t batch = MostInTime(confirm);
      const int64_t confirmed = bracket_.confirmed().has_value() ? bracket_.confirmed()->batch : 0;
      if (batch < confirmed + Width(confirmed)) return Stop(TimeIsUp());
      return Propose(TrialPurpose::kConfirm, batch);
    }
  }
  next_ = trial;
}

bool Search::IsTimeFor(const TrialSpec& trial, absl::Duration spent) const {
  return !time_left_.has_value() ||
         pace_.Estimate(trial).value_or(absl::ZeroDuration()) <= *time_left_ - spent;
}

// Until something is confirmed, a trial of more than what ran may fail, or take longer than
// expected: it must leave the time to confirm what ran.
absl::Duration Search::Fallback(int64_t batch) const {
  const std::optional<Bracket::Ran> largest = bracket_.Largest();
  if (bracket_.confirmed().has_value() || !largest.has_value() || batch <= largest->batch) {
    return absl::ZeroDuration();
  }
  return pace_.Estimate(Spec(TrialPurpose::kConfirm, largest->batch))
      .value_or(absl::ZeroDuration());
}

// The largest batch, up to that of `confirm`, that can still be confirmed; 0: none.
int64_t Search::MostInTime(const TrialSpec& confirm) const {
  int64_t most = pace_.LargestWithin(confirm, *time_left_ - Fallback(confirm.batch));
  if (const std::optional<Bracket::Ran> largest = bracket_.Largest(); largest.has_value()) {
    most = std::max(most, std::min(largest->batch, pace_.LargestWithin(confirm, *time_left_)));
  }
  return rule_.Floor(std::min(confirm.batch, most));
}

absl::Duration Search::TimeForNext() const {
  if (!time_left_.has_value() || !next_.has_value()) return absl::InfiniteDuration();
  const absl::Duration without = *time_left_ - Fallback(next_->batch);
  return without > absl::ZeroDuration() ? without : *time_left_;
}

TrialSpec Search::Spec(TrialPurpose purpose, int64_t batch) const {
  const bool explore = purpose == TrialPurpose::kExplore;
  return {.purpose = purpose,
          .batch = batch,
          .steps = explore ? options_.explore_steps : options_.confirm_steps,
          // Where time is short, nothing takes longer than was planned for.
          .most_steps =
              explore || time_left_.has_value() ? 0 : kMaxStepsFactor * options_.confirm_steps,
          .accumulation = options_.accumulation,
          .fresh_process = !explore || fresh_from_now_,
          .gradient_buckets = options_.gradient_buckets,
          .evaluation_batch = options_.evaluation_batch.value_or(batch),
          .limit_bytes = budget_.LimitBytes(),
          .reserve_bytes = budget_.ReserveBytes(),
          .seed = options_.seed};
}

void Search::Propose(TrialPurpose purpose, int64_t batch) { next_ = Spec(purpose, batch); }

BatchBound Search::Bound(int64_t confirmed) const {
  if (stopped_.has_value()) {
    const bool time =
        stopped_->kind == FailureKind::kTimeout || stopped_->kind == FailureKind::kCancelled;
    return time ? BatchBound::kTimeLimit : BatchBound::kFailure;
  }
  if (verified_) return options_.cached_bound;
  if (confirmed == rule_.Greatest()) return options_.max_batch_bound;
  if (confirmed == KneeBatch()) return BatchBound::kThroughput;
  const std::optional<Bracket::Ceiling>& ceiling = bracket_.ceiling();
  if (ceiling.has_value() && rule_.Ceil(confirmed + Width(confirmed)) >= ceiling->batch) {
    return ceiling->bound;
  }
  return BatchBound::kMemory;
}

void Search::Finish() {
  if (over_) return;
  over_ = true;
  next_.reset();
  const std::optional<Bracket::Ran>& confirmed = bracket_.confirmed();
  outcome_.budget_bytes = confirmed.has_value() ? ConfirmedBudgetBytes() : BudgetBytes();
  if (fit_.has_value()) outcome_.fit = fit_->Summary();
  if (bracket_.ceiling().has_value()) outcome_.smallest_failing_batch = bracket_.ceiling()->batch;
  outcome_.failure = stopped_;
  if (!confirmed.has_value()) return;
  outcome_.status = stopped_.has_value() ? ResultStatus::kPartial : ResultStatus::kConfirmed;
  outcome_.confirmed_batch = confirmed->batch;
  outcome_.confirming_observation = bracket_.confirmed_index();
  outcome_.bound = Bound(confirmed->batch);
  if (outcome_.bound == BatchBound::kTimeLimit && time_left_.has_value()) {
    outcome_.status = ResultStatus::kPartial;
  }
  if (first_failure_.has_value()) {
    outcome_.warnings.push_back(
        absl::StrCat("a batch of 1 does not run: ", first_failure_->message,
                     "; see that no batch of the data set has a single sample (drop_last)"));
  }
}

}  // namespace autobatch
