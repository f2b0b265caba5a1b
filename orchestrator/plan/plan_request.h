#ifndef ORCHESTRATOR_PLAN_PLAN_REQUEST_H_
#define ORCHESTRATOR_PLAN_PLAN_REQUEST_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"

namespace autobatch {

// World sizes and data sets that a plan can speak of; beyond them an input is a mistake.
inline constexpr int64_t kMaxWorldSize = int64_t{1} << 20;
inline constexpr int64_t kMaxSamples = int64_t{1} << 62;
// Micro-steps of one optimizer step that can be asked for.
inline constexpr int64_t kMaxAccumulation = int64_t{1} << 30;
// Rows of one plan. 8192 of them are up to 3.7 MB of JSON, and have to fit into one message.
inline constexpr int64_t kMaxPlanRows = 8192;
inline constexpr double kMaxBandPercent = 50;

enum class GlobalBatchRule {
  kLargest,  // Every rank takes all that is safe: global = the sum of the safe micro-batches.
  kExact,    // The same global batch for every world size, by accumulation and uneven splits.
  kBand,     // Within a band around it: the most even split, then the fewest micro-steps.
};
BOOST_DESCRIBE_ENUM(GlobalBatchRule, kLargest, kExact, kBand)

// How the learning rate follows the global batch G, against the batch R it was tuned for.
enum class LearningRateRule {
  kNone,    // 1
  kLinear,  // G / R
  kSqrt,    // sqrt(G / R)
};
BOOST_DESCRIBE_ENUM(LearningRateRule, kNone, kLinear, kSqrt)

// What the user wants of the global batch. The same on every node: a part of the configuration.
// World sizes are counted in data-parallel ranks (replicas of the model) throughout.
struct PlanRequest {
  GlobalBatchRule rule = GlobalBatchRule::kLargest;
  // Samples of one optimizer step, over all ranks. Needed by exact and band, refused by largest.
  std::optional<int64_t> global_batch;
  // Band: per cent of the global batch, to either side. (0, 50]; refused by the other rules.
  std::optional<double> band_percent;
  // Largest: micro-steps of each optimizer step. The other rules find their own: 1 is all they
  // take.
  int64_t accumulation = 1;

  // World sizes that get a row. Absent: from 1 (or kMaxPlanRows below the maximum), up to the
  // present world.
  std::optional<int64_t> min_world_size;
  std::optional<int64_t> max_world_size;
  // Processes that hold one replica of the model (tensor and pipeline parallel): they share its
  // samples, so that WORLD_SIZE = data-parallel ranks * this.
  int64_t model_parallel_size = 1;
  // The model's state is spread over the ranks (FSDP, ZeRO): a smaller world needs more memory on
  // each, so that no batch measured here is known to be safe there.
  bool sharded = false;

  // Samples of the data set; absent: unknown, and the plan counts no steps.
  std::optional<int64_t> dataset_size;
  // Whether the last, smaller step of an epoch is left out.
  bool drop_last = false;

  LearningRateRule learning_rate = LearningRateRule::kNone;
  // The global batch that the learning rate was tuned for. Needed by linear and sqrt.
  std::optional<int64_t> reference_batch;
};
BOOST_DESCRIBE_STRUCT(PlanRequest, (),
                      (rule, global_batch, band_percent, accumulation, min_world_size,
                       max_world_size, model_parallel_size, sharded, dataset_size, drop_last,
                       learning_rate, reference_batch))

// Whether the numbers are in range and agree with each other, as far as can be told without knowing
// any device. InvalidArgument names the field, its value and what would be right.
absl::Status ValidateRequest(const PlanRequest& request);

}  // namespace autobatch

#endif  // ORCHESTRATOR_PLAN_PLAN_REQUEST_H_
