#include "orchestrator/plan/elasticity.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

// Numbers with more divisors than any smaller one (OEIS A002182), as far as DeepSpeed knows them: a
// batch that is one of them times something splits evenly over the most GPU counts.
constexpr int64_t kHighlyComposite[] = {
    1,      2,      4,      6,      12,     24,     36,     48,    60,    120,
    180,    240,    360,    720,    840,    1260,   1680,   2520,  5040,  7560,
    10080,  15120,  20160,  25200,  27720,  45360,  50400,  55440, 83160, 110880,
    166320, 221760, 277200, 332640, 498960, 554400, 665280, 720720};

// Divisions that looking for the divisors of one number may cost: some hundredths of a second for
// each size.
constexpr int64_t kMostDivisions = int64_t{1} << 22;

// The largest of them that is not above `value`, which is at least 1.
int64_t HighlyCompositeUpTo(int64_t value) {
  return *std::prev(
      std::upper_bound(std::begin(kHighlyComposite), std::end(kHighlyComposite), value));
}

absl::StatusOr<int64_t> LeastCommonMultiple(const std::vector<int64_t>& sizes) {
  absl::int128 multiple = 1;
  for (const int64_t size : sizes) {
    multiple = multiple / std::gcd(static_cast<int64_t>(multiple), size) * size;
    if (multiple > std::numeric_limits<int64_t>::max()) {
      return absl::InvalidArgumentError(
          "elasticity.micro_batch_sizes: their least common multiple is above 2^63 - 1; fewer or "
          "rounder sizes are possible");
    }
  }
  return static_cast<int64_t>(multiple);
}

// Adds the divisors of `number` in [least, most].
absl::Status AddDivisors(int64_t number, double least, double most, std::set<int64_t>& divisors) {
  const auto add = [&](int64_t divisor) {
    if (static_cast<double>(divisor) >= least && static_cast<double>(divisor) <= most) {
      divisors.insert(divisor);
    }
  };
  // Each divisor up to the root has a partner above it; below a small `most` no partner is needed.
  const auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(number))) + 1;
  const bool by_root = static_cast<double>(root) < most;
  const int64_t last = by_root ? root : static_cast<int64_t>(most);
  if (last > kMostDivisions) {
    return absl::InvalidArgumentError(
        "elasticity.max_gpus and micro_batch_sizes are too large to look for GPU counts");
  }
  for (int64_t i = 1; i <= std::min(last, number); ++i) {
    if (number % i != 0) continue;
    add(i);
    if (by_root) add(number / i);
  }
  return absl::OkStatus();
}

// What version 0.1 finds; `valid` is absent where no batch was better than the smallest
// micro-batch.
struct Found {
  int64_t batch = 0;
  std::optional<std::vector<int64_t>> valid;
};

absl::StatusOr<Found> FindBatch(const ElasticityConfig& config, int64_t most_batch,
                                double least_gpus, double most_gpus) {
  const std::vector<int64_t>& sizes = config.micro_batch_sizes;
  const int64_t smallest = *std::min_element(sizes.begin(), sizes.end());
  const int64_t largest = *std::max_element(sizes.begin(), sizes.end());
  if (largest > most_batch) {
    return absl::InvalidArgumentError(
        absl::StrCat("elasticity.micro_batch_sizes: ", largest, " is above the ", most_batch,
                     " samples of max_train_batch_size",
                     config.version == 0.2 ? " that are left for a node" : ""));
  }
  AB_ASSIGN_OR_RETURN(const int64_t multiple, LeastCommonMultiple(sizes));
  std::set<int64_t> bases(sizes.begin(), sizes.end());
  bases.insert(multiple);
  // 0 stands for no limit.
  if (least_gpus == 0) least_gpus = 1;
  if (most_gpus == 0) {
    const int64_t full = most_batch / smallest;
    most_gpus = static_cast<double>(full);
  }

  Found found{.batch = smallest};
  for (const int64_t base : bases) {
    const int64_t batch = base > most_batch ? base : HighlyCompositeUpTo(most_batch / base) * base;
    std::set<int64_t> valid;
    for (const int64_t size : sizes) {
      if (batch % size != 0) continue;
      AB_RETURN_IF_ERROR(AddDivisors(batch / size, least_gpus, most_gpus, valid));
    }
    const size_t most = found.valid.has_value() ? found.valid->size() : 0;
    const bool preferred = config.prefer_larger_batch ? batch > found.batch : batch < found.batch;
    if (valid.size() > most || (valid.size() == most && preferred)) {
      found = {.batch = batch, .valid = std::vector<int64_t>(valid.begin(), valid.end())};
    }
  }
  return found;
}

absl::Status NoWorldSize(const ElasticityConfig& config) {
  return absl::FailedPreconditionError(absl::StrCat(
      "elasticity: no number of GPUs from ", config.min_gpus, " to ", config.max_gpus,
      " divides a batch of up to ", config.max_train_batch_size,
      " samples into these micro-batches; a wider range or other micro_batch_sizes are possible"));
}

absl::StatusOr<ElasticBatch> ComputeVersion1(const ElasticityConfig& config) {
  AB_ASSIGN_OR_RETURN(Found found,
                      FindBatch(config, static_cast<int64_t>(config.max_train_batch_size),
                                config.min_gpus, config.max_gpus));
  if (!found.valid.has_value()) return NoWorldSize(config);
  return ElasticBatch{.global_batch = found.batch, .valid_gpus = *std::move(found.valid)};
}

// Over nodes of equal size; in doubles where the original's division gives them.
absl::StatusOr<ElasticBatch> ComputeVersion2(const ElasticityConfig& config, int64_t world_size) {
  if (config.num_gpus_per_node % config.model_parallel_size != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("elasticity.num_gpus_per_node ", config.num_gpus_per_node,
                     ": is no multiple of model_parallel_size ", config.model_parallel_size));
  }
  const int64_t ranks_per_node = config.num_gpus_per_node / config.model_parallel_size;
  const auto gpus_per_node = static_cast<double>(config.num_gpus_per_node);
  AB_ASSIGN_OR_RETURN(const Found found,
                      FindBatch(config,
                                static_cast<int64_t>(config.max_train_batch_size /
                                                     static_cast<double>(ranks_per_node)),
                                std::trunc(config.min_gpus / gpus_per_node),
                                std::trunc(config.max_gpus / gpus_per_node)));
  if (!found.valid.has_value()) return NoWorldSize(config);
  const absl::int128 over_nodes = absl::int128(found.batch) * ranks_per_node;
  ElasticBatch answer;
  for (const int64_t nodes : *found.valid) answer.valid_gpus.push_back(nodes * ranks_per_node);
  const int64_t ranks = world_size / config.model_parallel_size;
  if (std::binary_search(answer.valid_gpus.begin(), answer.valid_gpus.end(), ranks)) {
    answer.global_batch = static_cast<int64_t>(
        std::min<absl::int128>(over_nodes, std::numeric_limits<int64_t>::max()));
    return answer;
  }

  // Whole nodes cannot take it evenly: the largest multiple of one micro-batch over these ranks.
  const double present =
      static_cast<double>(world_size) / gpus_per_node * static_cast<double>(ranks_per_node);
  std::vector<double> multiples;
  for (const int64_t size : config.micro_batch_sizes) {
    const double step = static_cast<double>(size) * present;
    multiples.push_back(std::floor(config.max_train_batch_size / step) * step);
  }
  const double batch = config.prefer_larger_batch
                           ? *std::max_element(multiples.begin(), multiples.end())
                           : *std::min_element(multiples.begin(), multiples.end());
  answer.global_batch = static_cast<int64_t>(batch);
  answer.valid_gpus = {static_cast<int64_t>(present)};
  return answer;
}

absl::Status CheckAnswer(const ElasticityConfig& config, const ElasticBatch& answer) {
  if (static_cast<double>(answer.global_batch) > config.max_train_batch_size) {
    return absl::FailedPreconditionError(
        absl::StrCat("elasticity: the batch that the most GPU counts divide, ", answer.global_batch,
                     ", is above max_train_batch_size ", config.max_train_batch_size,
                     "; a maximum of ", answer.global_batch,
                     " or micro_batch_sizes with a smaller common multiple "
                     "are possible"));
  }
  if (answer.global_batch >= 1) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("elasticity: max_train_batch_size ", config.max_train_batch_size,
                   " is less than one of these micro-batches on every rank"));
}

}  // namespace

absl::StatusOr<ElasticBatch> ComputeElasticBatch(const ElasticityConfig& config, int64_t world_size,
                                                 bool want_micro_batch) {
  if (world_size < 0) {
    return absl::InvalidArgumentError(absl::StrCat("world size ", world_size, ": is negative"));
  }
  if (world_size == 0 && (config.version == 0.2 || want_micro_batch)) {
    return absl::InvalidArgumentError(
        config.version == 0.2 ? "elasticity.version 0.2 needs the world size"
                              : "a micro-batch needs the world size that the batch is split over");
  }
  AB_ASSIGN_OR_RETURN(ElasticBatch answer, config.version == 0.2
                                               ? ComputeVersion2(config, world_size)
                                               : ComputeVersion1(config));
  if (world_size > 0 &&
      !std::binary_search(answer.valid_gpus.begin(), answer.valid_gpus.end(), world_size)) {
    return absl::FailedPreconditionError(
        absl::StrCat("elasticity: a batch of ", answer.global_batch,
                     " does not divide evenly over a world size of ", world_size));
  }
  AB_RETURN_IF_ERROR(CheckAnswer(config, answer));
  if (world_size == 0) return answer;
  for (const int64_t size : config.micro_batch_sizes) {
    if (answer.global_batch / world_size % size == 0) {
      answer.micro_batch = std::max(answer.micro_batch.value_or(0), size);
    }
  }
  if (answer.micro_batch.has_value()) return answer;
  return absl::FailedPreconditionError(
      absl::StrCat("elasticity: no micro-batch size divides the ", answer.global_batch / world_size,
                   " samples of a rank in a world size of ", world_size));
}

}  // namespace autobatch
