#ifndef AUTOBATCH_SEARCH_FAKE_CURVE_H_
#define AUTOBATCH_SEARCH_FAKE_CURVE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autobatch/types/failure.h"
#include "autobatch/types/observation.h"

namespace autobatch {

// A device and a workload made of a formula: memory against batch, what is free, how long a step
// takes, and what else goes wrong where. Deterministic: the same batch always takes the same
// memory.
//
//   FakeCurve curve({.intercept_bytes = kGiB, .slope_bytes = 100 * kMiB, .free_bytes = 8 * kGiB});
//   search.Observe(curve.Run(*search.NextTrial()));
class FakeCurve {
 public:
  struct Jump {
    // From this batch on an algorithm takes this much more (or less).
    int64_t batch = 0;
    double bytes = 0;
  };
  struct Options {
    // max(floor, intercept + slope * batch) + jumps, times 1 +- noise, rounded up to a stair.
    double floor_bytes = 0;
    double intercept_bytes = 0;
    double slope_bytes = 0;
    std::vector<Jump> jumps;
    double noise = 0;
    // Noise of batches up to 10, where a library takes what it finds.
    double small_batch_noise = 0;
    int64_t stair_bytes = 1;
    uint64_t seed = 0;
    // Free once a child's context exists.
    int64_t free_bytes = 0;
    // The driver tells neither free memory nor a limit: only failures tell.
    bool budget_unknown = false;
    double ms_per_sample = 10;
    // From this batch on a step takes no less however small: twice the batch, twice the time.
    double ms_per_step = 0;
    double start_ms = 1000;
    // Overrules what a trial that fits would report; `nth` counts the trials of that batch from 1.
    std::function<void(Observation& observation, int64_t nth)> meddle;
  };

  explicit FakeCurve(Options options) : options_(std::move(options)) {}

  int64_t Bytes(int64_t batch) const;
  // The largest batch up to `cap` such that it and every smaller one take at most `budget_bytes`.
  int64_t TrueMaximum(int64_t budget_bytes, int64_t cap) const;

  // Runs a trial: out of memory where the curve is above min(limit, free - reserve).
  Observation Run(const TrialSpec& trial);

  // Batches of all trials so far, in order.
  const std::vector<int64_t>& batches() const { return batches_; }

 private:
  Options options_;
  std::vector<int64_t> batches_;
};

// A curve drawn at random, of the kinds that models show: floors, small and large fixed parts,
// stairs of allocator segments, changes of algorithm, noise with its holes near the limit. Its true
// maximum is near `maximum`.
FakeCurve::Options RandomCurve(uint64_t seed, int64_t maximum);

}  // namespace autobatch

#endif  // AUTOBATCH_SEARCH_FAKE_CURVE_H_
