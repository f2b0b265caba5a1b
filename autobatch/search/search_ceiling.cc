// What it means that a batch is too large.

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/units.h"
#include "autobatch/search/search.h"
#include "autobatch/types/enum_names.h"

namespace autobatch {

void Search::TakeCeiling(const Observation& observation, const Failure& failure) {
  const TrialSpec& trial = observation.trial;
  const bool memory = IsMemoryCeiling(failure.kind);
  if (trial.purpose == TrialPurpose::kVerify) {
    verify_ = false;
    // Of a cache, an identical device or an estimator.
    outcome_.warnings.push_back(
        absl::StrCat("the first guess of ", trial.batch, " does not fit: ", failure.message));
  }
  const BatchBound bound = memory                                  ? BatchBound::kMemory
                           : failure.kind == FailureKind::kTimeout ? BatchBound::kTimeLimit
                                                                   : BatchBound::kFailure;
  broken_promise_ = trial.purpose == TrialPurpose::kConfirm && SureOf(trial.batch) &&
                    !bracket_.ran_below_ceiling();
  bracket_.AddFailed(trial.batch, bound);
  if (laboured_.has_value() && laboured_->ran.batch >= trial.batch) laboured_.reset();
  if (unsettled_.has_value() && unsettled_->ran.batch >= trial.batch) unsettled_.reset();
  const int64_t least = std::max(rule_.Least(), first_batch_);
  if (trial.batch > least) {
    if (memory || trial.purpose == TrialPurpose::kVerify) return;
    // Ceilings come down: the last one is what bounds the answer.
    if (!ceiling_warning_.has_value()) {
      ceiling_warning_ = outcome_.warnings.size();
      outcome_.warnings.emplace_back();
    }
    outcome_.warnings[*ceiling_warning_] = absl::StrCat(
        "a batch of ", trial.batch, " does not fail for memory (", EnumName(failure.kind),
        "): ", failure.message, "; batches from there on are taken as unsafe");
    return;
  }
  if (!memory) {
    Fail(first_failure_.value_or(failure));
    return;
  }
  // Not even the least batch fits: say how much it wants, and of how much.
  Failure nothing = failure;
  nothing.kind = FailureKind::kOutOfMemory;
  const int64_t need = observation.PeakReserved() + failure.requested_bytes.value_or(0);
  nothing.message = absl::StrCat("not even a batch of ", trial.batch, " fits");
  if (need > 0) absl::StrAppend(&nothing.message, ": it needs at least ", FormatBytes(need));
  if (const std::optional<int64_t> budget = BudgetBytes(); budget.has_value()) {
    absl::StrAppend(&nothing.message, need > 0 ? ", and" : ":", " the budget is ",
                    FormatBytes(*budget));
  }
  absl::StrAppend(&nothing.message, " (", failure.message, ")");
  if (nothing.advice.empty()) {
    nothing.advice = "free the device's memory, raise the limit, or make the workload smaller";
  }
  Fail(std::move(nothing));
}

}  // namespace autobatch
