#include "autobatch/search/pace.h"

#include <algorithm>
#include <cmath>

namespace autobatch {
namespace {

double Samples(const TrialSpec& trial) {
  return static_cast<double>(trial.batch) * trial.accumulation * trial.steps;
}

}  // namespace

void Pace::Observe(const Observation& observation) {
  if (!observation.ok()) return;
  const TrialSpec& trial = observation.trial;
  const double samples = Samples(trial);
  if (samples > 0 && !observation.step_ms.has_value() && observation.trial_ms > 0) {
    ObserveUntimed({samples, observation.trial_ms});
    return;
  }
  const double step_ms = observation.step_ms.value_or(0);
  if (samples <= 0 || step_ms <= 0) return;
  // Small batches cost more a sample, so the largest one tells best.
  if (trial.batch >= largest_batch_) {
    largest_batch_ = trial.batch;
    sample_ms_ = step_ms * trial.steps / samples;
  }
  const auto steps = static_cast<double>(observation.StepsRun());
  fixed_ms_ = std::max(fixed_ms_, observation.trial_ms - step_ms * steps);
}

void Pace::ObserveUntimed(Untimed trial) {
  if (!fewest_.has_value() || trial.samples < fewest_->samples) fewest_ = trial;
  if (!most_.has_value() || trial.samples >= most_->samples) most_ = trial;
  const double more_samples = most_->samples - fewest_->samples;
  const double more_ms = std::max(0.0, most_->trial_ms - fewest_->trial_ms);
  sample_ms_ = more_samples > 0 ? more_ms / more_samples : 0;
  fixed_ms_ = most_->trial_ms - *sample_ms_ * most_->samples;
}

std::optional<absl::Duration> Pace::Estimate(const TrialSpec& trial) const {
  if (!sample_ms_.has_value()) return std::nullopt;
  return absl::Milliseconds(kSafety * (fixed_ms_ + *sample_ms_ * Samples(trial)));
}

int64_t Pace::LargestWithin(const TrialSpec& trial, absl::Duration time) const {
  if (!sample_ms_.has_value()) return INT64_MAX;
  const double left_ms = absl::ToDoubleMilliseconds(time) / kSafety - fixed_ms_;
  const double batch_ms = *sample_ms_ * trial.accumulation * trial.steps;
  if (left_ms < batch_ms) return 0;
  const double batch = std::floor(left_ms / batch_ms);
  return batch < 9e18 ? static_cast<int64_t>(batch) : INT64_MAX;
}

}  // namespace autobatch
