#include "autobatch/types/observation.h"

#include <algorithm>

namespace autobatch {
namespace {

int64_t Peak(const Observation& observation, int64_t MemoryPeak::* part) {
  int64_t peak = 0;
  for (const std::optional<MemoryPeak>* phase :
       {&observation.first_step, &observation.steady, &observation.evaluation}) {
    if (phase->has_value()) peak = std::max(peak, (**phase).*part);
  }
  for (const StepObservation& step : observation.steps) peak = std::max(peak, step.peak.*part);
  return peak;
}

}  // namespace

int64_t Observation::PeakReserved() const { return Peak(*this, &MemoryPeak::reserved_bytes); }

int64_t Observation::PeakAllocated() const { return Peak(*this, &MemoryPeak::allocated_bytes); }

int64_t Observation::StepsRun() const {
  const int64_t known = failure.has_value() ? failure->step.value_or(0) : trial.steps;
  return std::max(known, static_cast<int64_t>(steps.size()));
}

}  // namespace autobatch
