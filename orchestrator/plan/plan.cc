#include "orchestrator/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/units.h"
#include "orchestrator/plan/capacity.h"

namespace autobatch {
namespace {

using Wide = absl::int128;

// How far a band looks for an even split before it takes an uneven one: more than twice the
// micro-steps are not worth it, and a plan has thousands of rows.
constexpr int64_t kBandSearch = 1024;

// One optimizer step, before it is spread.
struct Step {
  int64_t samples = 0;
  int64_t micro_steps = 0;
};

// The multiple of `unit` in [low, high] that is nearest to `wish`; of two, the larger. 0: none.
int64_t NearestMultiple(Wide unit, Wide low, Wide high, Wide wish) {
  const Wide first = (low + unit - 1) / unit;
  const Wide last = high / unit;
  if (first > last) return 0;
  const Wide nearest = (2 * wish + unit) / (2 * unit);
  return static_cast<int64_t>(std::clamp(nearest, first, last) * unit);
}

absl::Status TooFewSamples(absl::string_view what, int64_t samples) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, " has ", FormatCount(samples), " samples, and each rank needs one: up to ",
                   FormatCount(samples), " ranks, or more samples, are possible"));
}

absl::StatusOr<Step> LargestStep(const PlanRequest& request, const Capacity& capacity) {
  const Wide full = capacity.total() * request.accumulation;
  const int64_t limit = request.dataset_size.value_or(kMaxSamples);
  if (full <= limit) return Step{static_cast<int64_t>(full), request.accumulation};
  if (!request.dataset_size.has_value()) {
    return absl::OutOfRangeError(absl::StrCat(
        "ranks of ", FormatCount(static_cast<int64_t>(capacity.total() / capacity.ranks())),
        " samples in ", FormatCount(request.accumulation), " micro-steps are together more than ",
        FormatCount(kMaxSamples), " samples: a smaller world or fewer micro-steps are possible"));
  }
  // A step cannot take more than the data set: what it has is shared out as evenly as by the
  // batches.
  if (limit < capacity.ranks()) return TooFewSamples("the data set", limit);
  const Wide unit = capacity.unit() * request.accumulation;
  if (unit <= limit) return Step{static_cast<int64_t>(limit / unit * unit), request.accumulation};
  return Step{limit, capacity.MicroSteps(limit)};
}

absl::StatusOr<Step> ExactStep(const PlanRequest& request, const Capacity& capacity) {
  const int64_t samples = *request.global_batch;
  if (samples < capacity.ranks()) return TooFewSamples("the global batch", samples);
  return Step{samples, capacity.MicroSteps(samples)};
}

absl::StatusOr<Step> BandStep(const PlanRequest& request, const Capacity& capacity) {
  const int64_t wish = *request.global_batch;
  // A millionth of a per cent is exact enough, and the same on every machine.
  const Wide width = Wide(wish) * std::llround(*request.band_percent * 1e6) / 100'000'000;
  const Wide top = std::min<Wide>(wish + width, request.dataset_size.value_or(kMaxSamples));
  if (top < capacity.ranks())
    return TooFewSamples("the band's upper end", static_cast<int64_t>(top));
  const Wide low = std::max<Wide>(wish - width, capacity.ranks());
  if (low > top) {
    return absl::FailedPreconditionError(
        absl::StrCat("the band begins at ", FormatCount(static_cast<int64_t>(low)),
                     " samples, more than the data set's ", FormatCount(static_cast<int64_t>(top)),
                     ": a smaller global batch or a wider band is possible"));
  }
  const int64_t fewest = capacity.MicroSteps(static_cast<int64_t>(low));
  // All micro-batches of a rank equal, and the ranks in exact proportion.
  for (int64_t steps = fewest; steps <= std::min(2 * fewest, fewest + kBandSearch); ++steps) {
    const int64_t samples = NearestMultiple(capacity.unit() * steps, low,
                                            std::min(top, capacity.total() * steps), wish);
    if (samples > 0) return Step{samples, steps};
  }
  // The ranks in exact proportion, or else nothing but the wish.
  const Wide high = std::min(top, capacity.total() * fewest);
  const int64_t even_ranks = NearestMultiple(capacity.unit(), low, high, wish);
  return Step{even_ranks > 0 ? even_ranks : NearestMultiple(1, low, high, wish), fewest};
}

absl::StatusOr<Step> StepOf(const PlanRequest& request, const Capacity& capacity) {
  switch (request.rule) {
    case GlobalBatchRule::kLargest:
      return LargestStep(request, capacity);
    case GlobalBatchRule::kExact:
      return ExactStep(request, capacity);
    case GlobalBatchRule::kBand:
      return BandStep(request, capacity);
  }
  return absl::InternalError("unknown rule");
}

double LearningRateFactor(const PlanRequest& request, int64_t global_batch) {
  if (request.learning_rate == LearningRateRule::kNone) return 1;
  const double ratio =
      static_cast<double>(global_batch) / static_cast<double>(*request.reference_batch);
  return request.learning_rate == LearningRateRule::kLinear ? ratio : std::sqrt(ratio);
}

bool HasSingleSample(const std::vector<PlanGroup>& groups) {
  return std::any_of(groups.begin(), groups.end(), [](const PlanGroup& group) {
    return std::any_of(group.steps.begin(), group.steps.end(),
                       [](const MicroSteps& steps) { return steps.micro_batch == 1; });
  });
}

// Steps of an epoch: the same on every rank, since every rank has its part of every step.
void CountSteps(const PlanRequest& request, const Capacity& capacity, PlanRow& row) {
  const int64_t rest = *request.dataset_size % row.global_batch;
  const bool smaller_last = rest > 0 && !request.drop_last;
  row.steps_per_epoch = *request.dataset_size / row.global_batch + (smaller_last ? 1 : 0);
  row.last_step_samples = smaller_last ? rest : row.global_batch;
  row.last_single_sample = smaller_last
                               ? HasSingleSample(capacity.Spread(rest, capacity.MicroSteps(rest)))
                               : row.single_sample;
}

absl::StatusOr<PlanRow> MakeRow(const PlanRequest& request, const Capacity& capacity) {
  AB_ASSIGN_OR_RETURN(const Step step, StepOf(request, capacity));
  PlanRow row{
      .world_size = capacity.ranks(),
      .processes = capacity.ranks() * request.model_parallel_size,
      .global_batch = step.samples,
      .accumulation = step.micro_steps,
      .sample_weight = static_cast<double>(capacity.ranks()) / static_cast<double>(step.samples),
      .lr_factor = LearningRateFactor(request, step.samples),
      .groups = capacity.Spread(step.samples, step.micro_steps)};
  for (const PlanGroup& group : row.groups) {
    row.micro_batch = std::max(row.micro_batch, group.steps.front().micro_batch);
  }
  row.single_sample = HasSingleSample(row.groups);
  if (request.dataset_size.has_value()) CountSteps(request, capacity, row);
  return row;
}

absl::Status ValidateShares(const PlanRequest& request, const ClusterBatches& cluster) {
  if (cluster.shares.empty()) return absl::OkStatus();
  if (request.model_parallel_size > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "shares per device, and a replica of the model takes ", request.model_parallel_size,
        " processes: a rank is several devices then; one share for all is possible"));
  }
  if (static_cast<int64_t>(cluster.shares.size()) != cluster.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat(cluster.shares.size(), " shares for ", cluster.world_size, " ranks"));
  }
  std::set<absl::string_view> uuids;
  for (const DeviceShare& share : cluster.shares) {
    if (share.batch < cluster.minimum_batch || share.batch > kMaxSamples) {
      return absl::InvalidArgumentError(absl::StrCat("the share ", share.batch, " of device ",
                                                     share.uuid, " is not between the minimum ",
                                                     cluster.minimum_batch, " and ", kMaxSamples));
    }
    if (share.uuid.empty() || !uuids.insert(share.uuid).second) {
      return absl::InvalidArgumentError(
          share.uuid.empty() ? "a share without a device"
                             : absl::StrCat("device ", share.uuid, " has two shares"));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateCluster(const PlanRequest& request, const ClusterBatches& cluster) {
  if (cluster.world_size < 1 || cluster.world_size > kMaxWorldSize / request.model_parallel_size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a world size of ", cluster.world_size, ": from 1 to ",
        kMaxWorldSize / request.model_parallel_size, " data-parallel ranks are possible"));
  }
  if (cluster.minimum_batch < 1 || cluster.minimum_batch > kMaxSamples) {
    return absl::InvalidArgumentError(absl::StrCat("a safe batch of ", cluster.minimum_batch,
                                                   ": from 1 to ", kMaxSamples, " is possible"));
  }
  return ValidateShares(request, cluster);
}

// World sizes, both included.
struct WorldSizes {
  int64_t least = 0;
  int64_t most = 0;
};

absl::StatusOr<WorldSizes> WorldSizesOf(const PlanRequest& request, int64_t present) {
  WorldSizes sizes;
  sizes.least = request.min_world_size.value_or(present);
  sizes.most = request.max_world_size.value_or(present);
  if (present < sizes.least || present > sizes.most) {
    return absl::InvalidArgumentError(absl::StrCat("the present world size ", present,
                                                   " is not in ", sizes.least, " to ", sizes.most));
  }
  if (sizes.most - sizes.least >= kMaxPlanRows) {
    return absl::InvalidArgumentError(absl::StrCat(
        "world sizes ", sizes.least, " to ", sizes.most, " are more than ", kMaxPlanRows,
        " rows: a smallest world of ", sizes.most - kMaxPlanRows + 1, " is possible"));
  }
  return sizes;
}

absl::StatusOr<PlanRow> PresentRow(const PlanRequest& request, const ClusterBatches& cluster) {
  if (cluster.shares.empty()) {
    return MakeRow(request, Capacity::Equal(cluster.world_size, cluster.minimum_batch));
  }
  std::vector<int64_t> batches;
  std::vector<std::string> devices;
  for (const DeviceShare& share : cluster.shares) {
    batches.push_back(share.batch);
    devices.push_back(share.uuid);
  }
  AB_ASSIGN_OR_RETURN(PlanRow row, MakeRow(request, Capacity::PerRank(batches)));
  row.devices = std::move(devices);
  return row;
}

absl::StatusOr<PlanRow> OtherRow(const PlanRequest& request, const ClusterBatches& cluster,
                                 int64_t world_size) {
  if (request.sharded && world_size < cluster.world_size) {
    return absl::FailedPreconditionError(
        absl::StrCat("the model's state is sharded, and a rank holds more of it in a world smaller "
                     "than the measured ",
                     FormatCount(cluster.world_size), ": probe again there"));
  }
  return MakeRow(request, Capacity::Equal(world_size, cluster.minimum_batch));
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const PlanRequest& request, const ClusterBatches& cluster) {
  AB_RETURN_IF_ERROR(ValidateRequest(request));
  AB_RETURN_IF_ERROR(ValidateCluster(request, cluster));
  AB_ASSIGN_OR_RETURN(const WorldSizes sizes, WorldSizesOf(request, cluster.world_size));
  Plan plan;
  for (int64_t world_size = sizes.least; world_size <= sizes.most; ++world_size) {
    const bool present = world_size == cluster.world_size;
    absl::StatusOr<PlanRow> row =
        present ? PresentRow(request, cluster) : OtherRow(request, cluster, world_size);
    if (row.ok()) {
      plan.rows.push_back(*std::move(row));
      continue;
    }
    if (present) {
      return absl::Status(row.status().code(),
                          absl::StrCat("world size ", world_size, ": ", row.status().message()));
    }
    const std::string reason(row.status().message());
    if (!plan.unserved.empty() && plan.unserved.back().last == world_size - 1 &&
        plan.unserved.back().reason == reason) {
      plan.unserved.back().last = world_size;
    } else {
      plan.unserved.push_back({.first = world_size, .last = world_size, .reason = reason});
    }
  }
  return plan;
}

absl::StatusOr<PlanRow> RowFor(const Plan& plan, int64_t processes) {
  if (plan.rows.empty()) return absl::NotFoundError("the plan has no rows");
  for (const PlanRow& row : plan.rows) {
    if (row.processes == processes) return row;
  }
  const int64_t replica = plan.rows.front().processes / plan.rows.front().world_size;
  if (processes < 1 || processes % replica != 0) {
    return absl::NotFoundError(absl::StrCat("WORLD_SIZE ", processes, " is no multiple of the ",
                                            replica, " processes that hold one replica"));
  }
  for (const Unserved& unserved : plan.unserved) {
    if (processes / replica >= unserved.first && processes / replica <= unserved.last) {
      return absl::NotFoundError(
          absl::StrCat("no row for WORLD_SIZE ", processes, ": ", unserved.reason));
    }
  }
  const int64_t least = plan.rows.front().processes;
  const int64_t most = plan.rows.back().processes;
  return absl::NotFoundError(absl::StrCat("no row for WORLD_SIZE ", processes, ": the plan is for ",
                                          least == most ? "" : absl::StrCat(least, " to "), most,
                                          " ranks; start as many"));
}

}  // namespace autobatch
