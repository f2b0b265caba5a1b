#ifndef ORCHESTRATOR_PLAN_CAPACITY_H_
#define ORCHESTRATOR_PLAN_CAPACITY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/numeric/int128.h"
#include "orchestrator/plan/plan_row.h"

namespace autobatch {

// What the ranks of one world may load in a micro-step, and how samples are spread over them.
// Numbers of samples are up to 2^62 and ranks up to 2^20; products of them are taken in 128 bits.
class Capacity {
 public:
  // Every rank the same. Both at least 1.
  static Capacity Equal(int64_t ranks, int64_t batch);
  // Each rank its own, in the order of the ranks. Not empty, each at least 1.
  static Capacity PerRank(std::span<const int64_t> batches);

  int64_t ranks() const { return ranks_; }
  // Samples of a micro-step in which every rank is full.
  absl::int128 total() const { return total_; }
  // The least samples that can be spread in exact proportion to the capacities, and into how many
  // such parts a full micro-step can be cut: unit() * parts() == total(). With equal capacities the
  // unit is one sample for each rank.
  absl::int128 unit() const { return total_ / parts_; }
  int64_t parts() const { return parts_; }

  // The fewest micro-steps that take so many samples.
  int64_t MicroSteps(int64_t samples) const;

  // Spreads `samples` over the ranks in proportion to their capacities, and each rank's over the
  // micro-steps evenly: no micro-batch is above its rank's capacity. Equal ranks differ by one
  // sample at most, and so do the micro-batches of all of them; those with more come first. No rank
  // stays without a sample if there is one for each. Requires 1 <= samples <= total() *
  // micro_steps.
  std::vector<PlanGroup> Spread(int64_t samples, int64_t micro_steps) const;

 private:
  // Consecutive ranks with the same capacity, or with the same samples.
  struct Run {
    int64_t ranks = 0;
    int64_t batch = 0;
  };

  explicit Capacity(std::vector<Run> runs);
  static void Append(std::vector<Run>& runs, int64_t ranks, int64_t batch);
  std::vector<Run> Proportional(int64_t samples) const;

  std::vector<Run> runs_;
  int64_t ranks_ = 0;
  absl::int128 total_ = 0;
  int64_t parts_ = 0;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_PLAN_CAPACITY_H_
