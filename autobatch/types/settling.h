#ifndef AUTOBATCH_TYPES_SETTLING_H_
#define AUTOBATCH_TYPES_SETTLING_H_

#include <cstdint>
#include <span>

#include "autobatch/types/observation.h"

namespace autobatch {

// Steps in which the allocator may give its cache back and try again without anybody minding: the
// cache warms up.
inline constexpr int64_t kWarmUpSteps = 3;

// How far the allocator has come to rest in a trial. Near the limit its cache is given back and
// built anew until the blocks fit each other, mostly within three steps, sometimes in seven; from
// then on every step finds the blocks of the one before.
struct Settling {
  // Retries after the first kWarmUpSteps steps.
  int64_t late_retries = 0;
  // Steps at the end without a retry.
  int64_t calm_steps = 0;
  // The last step's reserved peak is above those of step 2 to the last but one.
  bool still_grows = false;

  // Whether nothing speaks of a longer warm-up, or it is over: as many calm steps as a trial of
  // `steps` has after an ordinary one.
  bool IsCalm(int64_t steps) const;
};

Settling SettlingOf(std::span<const StepObservation> steps);

// Whether a trial that has run `steps` goes on: to what it was asked for, and up to `most_steps` as
// long as its allocator comes to rest. One that still retries when its steps are over does not.
bool GoesOn(const TrialSpec& trial, std::span<const StepObservation> steps);

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_SETTLING_H_
