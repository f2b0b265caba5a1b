#include "autobatch/memory/budget.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autobatch/base/nearest.h"
#include "autobatch/base/units.h"

namespace autobatch {
namespace {

constexpr std::array<const char*, 6> kNames = {kContextGrowth, kCommunicator,  kGradientBuckets,
                                               kEvaluation,    kFragmentation, kHeadroom};

// Kernels are loaded when they first run, outside the allocator: context and kernels together take
// 150 to 600 MB, and the context is there when the budget is read. Replaced by the first trial.
constexpr int64_t kDefaultContextGrowth = 256 * kMiB;
// NCCL takes 0.1 to 6 GB a process; two ranks on one node are at the lower end.
constexpr int64_t kDefaultCommunicator = kGiB;
// DDP copies every gradient into fp32 buckets.
constexpr int64_t kBucketBytesPerParameter = 4;
// The CUDA caching allocator takes requests of 1 to 10 MiB from the device in segments of this
// size.
constexpr int64_t kAllocatorStep = 20 * kMiB;
constexpr int64_t kLeastHeadroom = 256 * kMiB;
constexpr double kHeadroomFraction = 0.02;

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

absl::Status CheckGiven(const BudgetOptions& options) {
  std::set<std::string> seen;
  for (const Margin& margin : options.given) {
    if (std::find(kNames.begin(), kNames.end(), margin.name) == kNames.end()) {
      return UnknownName("margin", margin.name,
                         std::vector<std::string>(kNames.begin(), kNames.end()));
    }
    if (margin.bytes < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("margin ", margin.name, " is ", margin.bytes, " bytes: below 0"));
    }
    if (!seen.insert(margin.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("margin ", margin.name, " is given twice"));
    }
  }
  if (seen.count(kHeadroom) + options.headroom_bytes.has_value() +
          options.headroom_fraction.has_value() >
      1) {
    return absl::InvalidArgumentError(
        "headroom is given more than once: give bytes, or a fraction, or the margin");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BudgetModel> BudgetModel::Create(BudgetOptions options) {
  if (options.world_size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("world size is ", options.world_size, ": at least 1 rank trains"));
  }
  if (options.total_bytes.value_or(1) <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("total memory is ", *options.total_bytes, " bytes"));
  }
  if (options.memory_limit_bytes.value_or(1) <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory limit is ", *options.memory_limit_bytes, " bytes: above 0 wanted"));
  }
  if (options.headroom_bytes.value_or(0) < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("headroom is ", *options.headroom_bytes, " bytes: below 0"));
  }
  if (options.headroom_fraction.has_value()) {
    if (!(*options.headroom_fraction >= 0 && *options.headroom_fraction < 1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "headroom fraction is ", *options.headroom_fraction, ": at least 0 and below 1 wanted"));
    }
    if (!options.total_bytes.has_value() && !options.memory_limit_bytes.has_value()) {
      return absl::InvalidArgumentError(
          "headroom is given as a fraction, but the device does not tell its total: give bytes");
    }
  }
  if (absl::Status status = CheckGiven(options); !status.ok()) return status;
  BudgetModel model(std::move(options));
  // What an earlier probe measured is where this one starts to measure; what is declared stays.
  std::erase_if(model.options_.given, [&model](const Margin& given) {
    if (given.name != kContextGrowth || given.source != MarginSource::kMeasured) return false;
    model.context_growth_bytes_ = given.bytes;
    return true;
  });
  return model;
}

void BudgetModel::Observe(const Observation& observation) {
  if (observation.parameters.has_value()) parameters_ = observation.parameters;
  // A retry gave segments back, so that the peak is no longer what the allocator held at the end.
  if (!observation.ok() || observation.retries > 0) return;
  if (!observation.free_before_bytes.has_value() || !observation.free_after_bytes.has_value()) {
    return;
  }
  const int64_t outside =
      *observation.free_before_bytes - *observation.free_after_bytes - observation.PeakReserved();
  // The largest counts: a warm process has loaded its kernels already and shows no growth.
  context_growth_bytes_ = std::max({int64_t{0}, outside, context_growth_bytes_.value_or(0)});
}

Margin BudgetModel::ContextGrowth() const {
  if (options_.device == DeviceKind::kCpu) {
    return {kContextGrowth, 0, MarginSource::kDefault, "the CPU has no driver context"};
  }
  if (context_growth_bytes_.has_value()) {
    return {kContextGrowth, *context_growth_bytes_, MarginSource::kMeasured,
            "growth of the driver's use outside the allocator, the largest of all trials"};
  }
  return {kContextGrowth, kDefaultContextGrowth, MarginSource::kDefault,
          "kernels that load when they first run; until a trial has measured it"};
}

Margin BudgetModel::Communicator() const {
  if (options_.world_size == 1) {
    return {kCommunicator, 0, MarginSource::kDefault, "one rank: no communicator"};
  }
  if (options_.device == DeviceKind::kCpu) {
    return {kCommunicator, 0, MarginSource::kDefault, "the CPU's ranks do not use NCCL"};
  }
  return {kCommunicator, kDefaultCommunicator, MarginSource::kDefault,
          absl::StrCat("NCCL buffers of ", options_.world_size,
                       " ranks, not measured: declare it if you know your job's")};
}

Margin BudgetModel::GradientBuckets() const {
  if (options_.world_size == 1) {
    return {kGradientBuckets, 0, MarginSource::kDefault, "one rank: no gradient buckets"};
  }
  if (options_.trials_carry_gradient_buckets) {
    return {kGradientBuckets, 0, MarginSource::kMeasured,
            "the confirming trial holds them: they are in its peak"};
  }
  if (!parameters_.has_value()) {
    return {kGradientBuckets, 0, MarginSource::kDefault,
            "the workload does not tell its parameters: declare 4 bytes a parameter under DDP"};
  }
  int64_t bytes;
  if (__builtin_mul_overflow(*parameters_, kBucketBytesPerParameter, &bytes)) {
    bytes = std::numeric_limits<int64_t>::max();
  }
  return {kGradientBuckets, bytes, MarginSource::kDefault,
          absl::StrCat("DDP's copy of the gradients: 4 bytes for each of ",
                       FormatCount(*parameters_), " parameters")};
}

Margin BudgetModel::Evaluation() const {
  if (options_.trials_run_evaluation) {
    return {kEvaluation, 0, MarginSource::kMeasured,
            "the trials run the evaluation step: it is in their peak"};
  }
  return {kEvaluation, 0, MarginSource::kDefault,
          "no evaluation step in the trials: declare its bytes if training evaluates"};
}

Margin BudgetModel::Fragmentation() const {
  if (options_.device == DeviceKind::kCpu) {
    return {kFragmentation, 0, MarginSource::kDefault, "the budgeted allocator has no segments"};
  }
  return {kFragmentation, kAllocatorStep, MarginSource::kDefault,
          "one segment of the caching allocator: near the limit, whether a batch fits hangs on the "
          "order of allocations, which differs between runs"};
}

Margin BudgetModel::Headroom() const {
  // What training may use at most: a fraction of a whole host would swallow a small limit.
  std::optional<int64_t> total = options_.total_bytes;
  if (options_.memory_limit_bytes.has_value()) {
    total = std::min(total.value_or(*options_.memory_limit_bytes), *options_.memory_limit_bytes);
  }
  if (options_.headroom_bytes.has_value()) {
    return {kHeadroom, *options_.headroom_bytes, MarginSource::kDeclared, "as you asked"};
  }
  if (options_.headroom_fraction.has_value()) {
    return {
        kHeadroom,
        static_cast<int64_t>(std::ceil(*options_.headroom_fraction * static_cast<double>(*total))),
        MarginSource::kDeclared,
        absl::StrFormat("%g %% of %s, as you asked", *options_.headroom_fraction * 100,
                        FormatBytes(*total))};
  }
  if (!total.has_value()) {
    return {kHeadroom, kLeastHeadroom, MarginSource::kDefault,
            "the device does not tell its total: the least that is held back"};
  }
  const int64_t share =
      static_cast<int64_t>(std::ceil(kHeadroomFraction * static_cast<double>(*total)));
  return {kHeadroom, std::max(kLeastHeadroom, share), MarginSource::kDefault,
          absl::StrCat("for what no trial saw: the larger of ", FormatBytes(kLeastHeadroom),
                       " and 2 % of ", FormatBytes(*total))};
}

std::vector<Margin> BudgetModel::Margins() const {
  std::vector<Margin> margins = {ContextGrowth(), Communicator(),  GradientBuckets(),
                                 Evaluation(),    Fragmentation(), Headroom()};
  for (Margin& margin : margins) {
    for (const Margin& given : options_.given) {
      if (given.name == margin.name) margin = given;
    }
  }
  return margins;
}

int64_t BudgetModel::ReserveBytes() const {
  int64_t sum = 0;
  for (const Margin& margin : Margins()) sum = SaturatingAdd(sum, margin.bytes);
  return sum;
}

std::optional<int64_t> BudgetModel::LimitBytes() const {
  if (!options_.memory_limit_bytes.has_value()) return std::nullopt;
  return std::max<int64_t>(0, *options_.memory_limit_bytes - ReserveBytes());
}

}  // namespace autobatch
