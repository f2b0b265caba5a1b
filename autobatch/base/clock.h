#ifndef AUTOBATCH_BASE_CLOCK_H_
#define AUTOBATCH_BASE_CLOCK_H_

#include <chrono>

#include "absl/time/time.h"

namespace autobatch {

// A point on the steady clock: the only kind of time a deadline is made of.
using SteadyTime = std::chrono::steady_clock::time_point;

// Adds a duration to a steady time; an infinite duration gives SteadyTime::max().
SteadyTime Add(SteadyTime time, absl::Duration duration);

// `later` - `earlier`.
absl::Duration Between(SteadyTime earlier, SteadyTime later);

// Where time comes from. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Steady: never jumps; for deadlines and elapsed time.
  virtual SteadyTime Now() const = 0;
  // Wall: for what a person reads; never for a deadline.
  virtual absl::Time WallNow() const = 0;

  // The machine's clocks; lives as long as the program.
  static const Clock& Real();
};

}  // namespace autobatch

#endif  // AUTOBATCH_BASE_CLOCK_H_
