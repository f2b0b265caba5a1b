#include "autobatch/types/observation.h"

#include <algorithm>

namespace autobatch {

int64_t Observation::PeakReserved() const {
  int64_t peak = 0;
  for (const std::optional<MemoryPeak>* phase : {&first_step, &steady, &evaluation}) {
    if (phase->has_value()) peak = std::max(peak, (*phase)->reserved_bytes);
  }
  for (const StepObservation& step : steps) peak = std::max(peak, step.peak.reserved_bytes);
  return peak;
}

}  // namespace autobatch
