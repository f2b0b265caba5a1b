#ifndef AUTOBATCH_SEARCH_PACE_H_
#define AUTOBATCH_SEARCH_PACE_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "autobatch/types/observation.h"

namespace autobatch {

// How long a trial will take: a fixed part (process, model, first step) plus a part for each sample
// stepped, both from trials that ran. Where steps are not timed (a command watched from outside),
// two trials of different sizes tell the two parts apart; one alone is taken for the fixed part,
// since loading a framework takes longer than small steps. Estimates are a quarter too long on
// purpose: a trial that outlasts its time is worth nothing.
class Pace {
 public:
  // Failed trials are ignored.
  void Observe(const Observation& observation);

  // Absent before the first trial that ran.
  std::optional<absl::Duration> Estimate(const TrialSpec& trial) const;

  // The largest batch with which `trial` is expected to end within `time`; 0: none. Without an
  // estimate, INT64_MAX.
  int64_t LargestWithin(const TrialSpec& trial, absl::Duration time) const;

 private:
  static constexpr double kSafety = 1.25;

  struct Untimed {
    double samples = 0;
    double trial_ms = 0;
  };
  void ObserveUntimed(Untimed trial);

  std::optional<double> sample_ms_;
  double fixed_ms_ = 0;
  int64_t largest_batch_ = 0;
  // Of the trials without step times, the one of the fewest and of the most samples.
  std::optional<Untimed> fewest_;
  std::optional<Untimed> most_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_SEARCH_PACE_H_
