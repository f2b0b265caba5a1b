#include "orchestrator/plan/plan_row.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

using Wide = absl::int128;

// Weights are written to the last digit; a reader in another language may have rounded once.
constexpr double kWeightTolerance = 1e-12;

RankShare ShareOf(const PlanRow& row, const PlanGroup& group) {
  RankShare share{
      .global_batch = row.global_batch, .accumulation = row.accumulation, .steps = group.steps};
  for (const MicroSteps& steps : group.steps) {
    share.micro_batch = std::max(share.micro_batch, steps.micro_batch);
    share.samples += steps.count * steps.micro_batch;
  }
  share.weight = static_cast<double>(share.samples) * row.sample_weight /
                 static_cast<double>(row.accumulation);
  return share;
}

absl::Status Wrong(const PlanRow& row, const absl::AlphaNum& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the row of world size ", row.world_size, ": ", what));
}

// What the groups add up to.
struct Sums {
  Wide ranks = 0;
  Wide samples = 0;
  int64_t most = 0;
  bool single = false;
};

absl::StatusOr<Sums> AddUp(const PlanRow& row) {
  Sums sums;
  for (const PlanGroup& group : row.groups) {
    if (group.ranks < 1) return Wrong(row, absl::StrCat("a group of ", group.ranks, " ranks"));
    Wide count = 0;
    Wide samples = 0;
    for (const MicroSteps& steps : group.steps) {
      if (steps.count < 1 || steps.micro_batch < 0) {
        return Wrong(row, absl::StrCat(steps.count, " micro-steps of ", steps.micro_batch));
      }
      count += steps.count;
      samples += Wide(steps.count) * steps.micro_batch;
      if (samples > row.global_batch) return Wrong(row, "a rank has more than the global batch");
      sums.most = std::max(sums.most, steps.micro_batch);
      sums.single |= steps.micro_batch == 1;
    }
    if (count != row.accumulation) {
      return Wrong(
          row, absl::StrCat("a rank has another number of micro-steps than ", row.accumulation));
    }
    if (samples < 1) return Wrong(row, "a rank has no samples");
    sums.ranks += group.ranks;
    sums.samples += samples * group.ranks;
    if (sums.samples > row.global_batch) break;
  }
  return sums;
}

absl::Status CheckSteps(const PlanRow& row) {
  if (!row.steps_per_epoch.has_value() && !row.last_step_samples.has_value()) {
    return absl::OkStatus();
  }
  const int64_t last = row.last_step_samples.value_or(0);
  const int64_t steps = row.steps_per_epoch.value_or(0);
  if (steps < 1 || last < 1 || last > row.global_batch) {
    return Wrong(row, absl::StrCat(steps, " steps per epoch, the last of ", last, " samples"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RankShare> ShareOfRank(const PlanRow& row, int64_t rank) {
  int64_t first = 0;
  for (const PlanGroup& group : row.groups) {
    if (rank >= first && rank < first + group.ranks) return ShareOf(row, group);
    first += group.ranks;
  }
  return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " is not one of the ",
                                                 row.world_size, " data-parallel ranks from 0"));
}

absl::StatusOr<RankShare> ShareOfDevice(const PlanRow& row, absl::string_view uuid) {
  const auto found = std::find(row.devices.begin(), row.devices.end(), uuid);
  if (found != row.devices.end()) return ShareOfRank(row, found - row.devices.begin());
  return absl::NotFoundError(absl::StrCat(
      "the row of world size ", row.world_size,
      row.devices.empty() ? " names no devices, so not " : " has no share for device ", uuid));
}

absl::Status ValidateRow(const PlanRow& row, int64_t safe_batch) {
  if (row.world_size < 1 || row.global_batch < 1 || row.accumulation < 1) {
    return Wrong(row, absl::StrCat("global batch ", row.global_batch, " in ", row.accumulation,
                                   " micro-steps"));
  }
  AB_ASSIGN_OR_RETURN(const Sums sums, AddUp(row));
  if (sums.ranks != row.world_size) return Wrong(row, "its groups have another number of ranks");
  if (sums.samples != row.global_batch) {
    return Wrong(row, absl::StrCat("its micro-batches are not ", row.global_batch, " samples"));
  }
  if (sums.most != row.micro_batch) {
    return Wrong(row,
                 absl::StrCat("its largest micro-batch is ", sums.most, ", not ", row.micro_batch));
  }
  if (sums.single != row.single_sample) {
    return Wrong(row, "single_sample does not say whether a micro-batch has one sample");
  }
  if (row.devices.empty() && sums.most > safe_batch) {
    return Wrong(row,
                 absl::StrCat("a micro-batch of ", sums.most, " is above the safe ", safe_batch));
  }
  const double weight = static_cast<double>(row.world_size) / static_cast<double>(row.global_batch);
  if (!(std::abs(row.sample_weight - weight) <= kWeightTolerance * weight)) {
    return Wrong(row, absl::StrCat("a sample weighs ", weight, ", not ", row.sample_weight));
  }
  if (!std::isfinite(row.lr_factor) || row.lr_factor <= 0) {
    return Wrong(row, absl::StrCat("lr_factor ", row.lr_factor));
  }
  const std::set<absl::string_view> devices(row.devices.begin(), row.devices.end());
  if (!devices.empty() && (devices.count("") > 0 || Wide(devices.size()) != row.world_size ||
                           devices.size() != row.devices.size())) {
    return Wrong(row, "it does not name one device for each rank");
  }
  return CheckSteps(row);
}

}  // namespace autobatch
