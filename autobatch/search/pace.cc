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
  const double step_ms = observation.step_ms.value_or(observation.trial_ms / trial.steps);
  if (samples <= 0 || step_ms <= 0) return;
  // Small batches cost more a sample, so the largest one tells best.
  if (trial.batch >= largest_batch_) {
    largest_batch_ = trial.batch;
    sample_ms_ = step_ms * trial.steps / samples;
  }
  fixed_ms_ = std::max(fixed_ms_, observation.trial_ms - step_ms * trial.steps);
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
