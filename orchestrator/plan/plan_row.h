#ifndef ORCHESTRATOR_PLAN_PLAN_ROW_H_
#define ORCHESTRATOR_PLAN_PLAN_ROW_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// So many micro-steps in a row with so many samples each.
struct MicroSteps {
  int64_t count = 0;
  // 0: this rank has no samples left. It still steps (on any input), or the others would wait for
  // it in the all-reduce; its loss counts 0 times.
  int64_t micro_batch = 0;
};
BOOST_DESCRIBE_STRUCT(MicroSteps, (), (count, micro_batch))

// So many consecutive ranks with the same micro-steps.
struct PlanGroup {
  int64_t ranks = 0;
  std::vector<MicroSteps> steps;
};
BOOST_DESCRIBE_STRUCT(PlanGroup, (), (ranks, steps))

// What training does in a world of one size.
struct PlanRow {
  // Data-parallel ranks, and the processes that the launcher calls WORLD_SIZE: ranks * processes a
  // replica.
  int64_t world_size = 0;
  int64_t processes = 0;
  // Samples of one optimizer step, over all ranks and micro-steps.
  int64_t global_batch = 0;
  // The largest of all micro-batches: what {micro_batch} stands for.
  int64_t micro_batch = 0;
  // Micro-steps of each optimizer step; the same on every rank.
  int64_t accumulation = 0;
  // world_size / global_batch. A micro-batch of n samples weighs n times this: that is what its
  // mean loss is multiplied by. Data-parallel training takes the mean over ranks and the sum over
  // micro-steps, so that the gradient then is the mean over all samples of the step, however
  // unevenly they are spread.
  double sample_weight = 0;
  double lr_factor = 1;
  // Where the data set is known: optimizer steps of an epoch, the same on every rank, and the
  // samples of the last one (the global batch, unless it is smaller).
  std::optional<int64_t> steps_per_epoch;
  std::optional<int64_t> last_step_samples;
  // Some rank gets a micro-batch of a single sample, in every step or in the last one of an epoch:
  // batch norm cannot train on it.
  bool single_sample = false;
  bool last_single_sample = false;
  // Consecutive ranks, from rank 0; their sum is the world size.
  std::vector<PlanGroup> groups;
  // Where the shares are the devices' own: the UUID of each rank's device, in the order of the
  // ranks that `groups` counts. A worker then takes the place of its device, whatever its rank.
  // Empty: the ranks count.
  std::vector<std::string> devices;
};
BOOST_DESCRIBE_STRUCT(PlanRow, (),
                      (world_size, processes, global_batch, micro_batch, accumulation,
                       sample_weight, lr_factor, steps_per_epoch, last_step_samples, single_sample,
                       last_single_sample, groups, devices))

// One rank's part of a row.
struct RankShare {
  // The same on every rank.
  int64_t global_batch = 0;
  int64_t accumulation = 0;
  double sample_weight = 0;
  // This rank's largest micro-batch, and its samples in all micro-steps.
  int64_t micro_batch = 0;
  int64_t samples = 0;
  // samples * sample_weight / accumulation: the mean weight of a micro-step, and the weight of each
  // where they are equal.
  double weight = 0;
  // This rank's micro-steps, in order.
  std::vector<MicroSteps> steps;
};

// The share of a data-parallel rank. InvalidArgument when the row has no such rank.
absl::StatusOr<RankShare> ShareOfRank(const PlanRow& row, int64_t rank);

// The same in a row whose shares belong to devices. NotFound when the device is not in it.
absl::StatusOr<RankShare> ShareOfDevice(const PlanRow& row, absl::string_view uuid);

// Whether the row is one that a plan could make, for it may come from a file: its sums are right,
// its weights are those of its micro-batches, no micro-batch is above `safe_batch` unless the
// shares are the devices' own. InvalidArgument says which number is wrong.
absl::Status ValidateRow(const PlanRow& row, int64_t safe_batch);

}  // namespace autobatch

#endif  // ORCHESTRATOR_PLAN_PLAN_ROW_H_
