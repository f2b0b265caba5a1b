#include "autobatch/types/settling.h"

#include <algorithm>
#include <cstddef>

namespace autobatch {

bool Settling::IsCalm(int64_t steps) const {
  return late_retries == 0 || calm_steps >= std::max<int64_t>(steps - kWarmUpSteps, 1);
}

Settling SettlingOf(std::span<const StepObservation> steps) {
  Settling settling;
  int64_t earlier = 0;  // Peak of steps 2 to the last but one.
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].step > kWarmUpSteps) settling.late_retries += steps[i].retries;
    settling.calm_steps = steps[i].retries > 0 ? 0 : settling.calm_steps + 1;
    if (i > 0 && i + 1 < steps.size()) earlier = std::max(earlier, steps[i].peak.reserved_bytes);
  }
  settling.still_grows = steps.size() > 2 && steps.back().peak.reserved_bytes > earlier;
  return settling;
}

bool GoesOn(const TrialSpec& trial, std::span<const StepObservation> steps) {
  const auto ran = static_cast<int64_t>(steps.size());
  if (ran < trial.steps) return true;
  if (ran >= trial.most_steps) return false;
  const Settling settling = SettlingOf(steps);
  if (settling.calm_steps == 0) return false;
  return settling.still_grows || !settling.IsCalm(trial.steps);
}

}  // namespace autobatch
