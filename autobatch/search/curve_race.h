#ifndef AUTOBATCH_SEARCH_CURVE_RACE_H_
#define AUTOBATCH_SEARCH_CURVE_RACE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace autobatch {

// What one contestant did on one curve.
struct RaceRun {
  int64_t true_maximum = 0;
  // 0: no answer.
  int64_t answer = 0;
  bool over_budget = false;
  int64_t trials = 0;
  // Sum of the batches of all trials, failed ones included.
  int64_t samples = 0;
  // The same, times the steps of each trial that ran and 1 of each that failed.
  int64_t samples_with_steps = 0;

  // Of the true maximum; an answer beyond a hole counts as all of it.
  double Fraction() const;
};

struct Contestant {
  std::string name;
  // One a curve, in the same order for all.
  std::vector<RaceRun> runs;
};

struct RaceResult {
  int curves = 0;
  uint64_t first_seed = 0;
  // Ours first, doubling + bisection second.
  std::vector<Contestant> contestants;

  // For people: the seeds, and one row a contestant.
  std::string Table() const;
  // What our search promises and did not keep; empty when all is well.
  std::vector<std::string> BrokenBars() const;
};

// All contestants on `curves` random curves with seeds from `first_seed`, whose maxima are spread
// evenly in their logarithm over 1 to 4096.
RaceResult RunRace(int curves, uint64_t first_seed);

}  // namespace autobatch

#endif  // AUTOBATCH_SEARCH_CURVE_RACE_H_
