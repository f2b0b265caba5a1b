#ifndef ORCHESTRATOR_PLAN_ELASTICITY_H_
#define ORCHESTRATOR_PLAN_ELASTICITY_H_

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

namespace autobatch {

// The `elasticity` block of a DeepSpeed configuration, with that program's defaults. Counts that
// may be written as 1e4 are read as numbers.
struct ElasticityConfig {
  double max_train_batch_size = 0;
  // As written, doubled ones included.
  std::vector<int64_t> micro_batch_sizes;
  double min_gpus = 1;
  double max_gpus = 10000;
  int64_t num_gpus_per_node = 1;
  int64_t model_parallel_size = 1;
  bool prefer_larger_batch = true;
  // 0.1 or 0.2
  double version = 0.2;
};

struct ElasticBatch {
  int64_t global_batch = 0;
  // Ascending. Numbers of GPUs; with version 0.2, of data-parallel ranks.
  std::vector<int64_t> valid_gpus;
  // The largest of the micro-batches that divides a rank's part; where a world size was given.
  std::optional<int64_t> micro_batch;
};

// Reads the block out of a whole configuration, {"elasticity": {…}, …}. Keys that mean nothing to
// the batch are left alone. InvalidArgument names the key that is missing or wrong, and what would
// be right.
absl::StatusOr<ElasticityConfig> ReadElasticityConfig(const boost::json::value& config);

// The batch that DeepSpeed 0.18.2 (the last line of releases with this feature) computes from it:
//
//   0.1  Of some batches up to the maximum, each a highly composite number times a micro-batch size
//   or
//        times the least common multiple of them all, the one that the most GPU counts divide.
//   0.2  The same over nodes. For a world that is not among those: the largest multiple of a
//        micro-batch over all ranks.
//
// `world_size`: 0, none; version 0.2 needs one. `want_micro_batch` without one is an error, for
// there is no part of a rank to divide. Where the original answers with nothing, with 0, with more
// than the stated maximum, or fails in its arithmetic, this is FailedPrecondition (InvalidArgument
// where the block itself is to blame), and says why.
absl::StatusOr<ElasticBatch> ComputeElasticBatch(const ElasticityConfig& config, int64_t world_size,
                                                 bool want_micro_batch = false);

}  // namespace autobatch

#endif  // ORCHESTRATOR_PLAN_ELASTICITY_H_
