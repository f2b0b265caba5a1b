#include "autobatch/probe/probe_spec.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

template <typename T>
absl::Status AtLeast(absl::string_view flag, T value, T least) {
  if (value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " is ", value, "; right would be ", least, " or more"));
}

// Beyond any job there is, and their product still is a number of samples.
constexpr int64_t kMostRanks = int64_t{1} << 20;
constexpr int64_t kMostSamples = int64_t{1} << 40;

absl::Status AtMost(absl::string_view flag, int64_t value, int64_t most) {
  if (value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " is ", value, "; right would be ", most, " or less"));
}

absl::Status Fraction(absl::string_view flag, std::optional<double> value) {
  if (!value.has_value() || (*value > 0 && *value <= 1)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " is ", *value, "; right would be a fraction above 0 and at most 1"));
}

// Held back: all of it would leave nothing to train in.
absl::Status Percent(absl::string_view flag, std::optional<double> fraction) {
  if (!fraction.has_value() || (*fraction > 0 && *fraction < 1)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " is ", *fraction * 100, "%; right would be above 0% and below 100%"));
}

absl::Status Positive(absl::string_view flag, absl::Duration value) {
  if (value > absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(flag, " is ", absl::FormatDuration(value),
                                                 "; right would be more than 0, such as 90s"));
}

absl::Status Contradiction(absl::string_view one, absl::string_view other, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(one, " and ", other, " contradict: ", why));
}

}  // namespace

int64_t WorldSize(const ProbeSpec& spec, int64_t devices) {
  if (spec.world_size.has_value()) return *spec.world_size;
  return spec.launched.has_value() ? spec.launched->ranks : devices;
}

WorkloadSpec WorkloadFor(const ProbeSpec& spec, const Device& device) {
  WorkloadSpec workload = spec.workload;
  workload.precision = spec.precision.value_or(
      device.kind == DeviceKind::kCpu ? Precision::kFp32 : Precision::kAmpFp16);
  return workload;
}

absl::Duration TimeLimitFor(const ProbeSpec& spec, const Device& device) {
  return spec.time_limit.value_or(device.kind == DeviceKind::kCpu ? absl::Seconds(120)
                                                                  : absl::InfiniteDuration());
}

absl::Status CheckScope(const ProbeSpec& spec, std::span<const Device> devices) {
  if (spec.scope == TrialScope::kDevice) return absl::OkStatus();
  for (const Device& device : devices) {
    if (device.kind == DeviceKind::kCpu) {
      return absl::InvalidArgumentError(
          "--scope node is for GPUs: on the CPU every trial has all ranks of the command already, "
          "and they share its memory; leave it out");
    }
    if (device.kind == DeviceKind::kMig && devices.size() > 1) {
      return absl::InvalidArgumentError(
          "--scope node and MIG instances contradict: a CUDA process sees one of them only; leave "
          "--scope out, or name one with --device");
    }
  }
  return absl::OkStatus();
}

absl::Status Validate(const ProbeSpec& spec) {
  AB_RETURN_IF_ERROR(AtLeast<int64_t>("--max-batch", spec.max_batch, 1));
  AB_RETURN_IF_ERROR(AtLeast<int64_t>("--dataset-size", spec.dataset_size.value_or(1), 1));
  AB_RETURN_IF_ERROR(AtLeast<int64_t>("--world-size", spec.world_size.value_or(1), 1));
  AB_RETURN_IF_ERROR(AtLeast<int64_t>("--multiple-of", spec.multiple_of, 1));
  AB_RETURN_IF_ERROR(AtLeast<int64_t>("--steps", spec.explore_steps, 3));
  AB_RETURN_IF_ERROR(AtLeast<int64_t>("--confirm-steps", spec.confirm_steps, 4));
  AB_RETURN_IF_ERROR(AtLeast<int64_t>("--accumulation", spec.accumulation, 1));
  AB_RETURN_IF_ERROR(AtLeast<int64_t>("--parallel", spec.parallel, 0));
  AB_RETURN_IF_ERROR(AtLeast<int64_t>("--memory-limit", spec.memory_limit_bytes.value_or(1), 1));
  AB_RETURN_IF_ERROR(AtLeast<int64_t>("--headroom", spec.headroom_bytes.value_or(0), 0));
  AB_RETURN_IF_ERROR(AtLeast<int64_t>("--communicator", spec.communicator_bytes.value_or(0), 0));
  AB_RETURN_IF_ERROR(
      AtLeast<int64_t>("--eval-batch", spec.workload.evaluation_batch.value_or(0), 0));
  AB_RETURN_IF_ERROR(Fraction("--tolerance", spec.tolerance));
  AB_RETURN_IF_ERROR(Fraction("--fraction", spec.fraction));
  AB_RETURN_IF_ERROR(Percent("--headroom", spec.headroom_fraction));
  AB_RETURN_IF_ERROR(Positive("--trial-timeout", spec.trial_timeout));
  AB_RETURN_IF_ERROR(Positive("--time-limit", spec.time_limit.value_or(absl::Seconds(1))));
  if (spec.multiple_of > spec.max_batch) {
    return Contradiction(
        "--multiple-of", "--max-batch",
        absl::StrCat("no multiple of ", spec.multiple_of, " is at most ", spec.max_batch));
  }
  if (spec.power_of_two && spec.multiple_of != 1) {
    return Contradiction("--power-of-two", "--multiple-of", "ask for one of the two");
  }
  AB_RETURN_IF_ERROR(AtMost("--world-size", WorldSize(spec, 1), kMostRanks));
  AB_RETURN_IF_ERROR(AtMost("--accumulation", spec.accumulation, kMostRanks));
  AB_RETURN_IF_ERROR(AtMost("--max-batch", spec.max_batch, kMostSamples));
  if (spec.confirm_steps < spec.explore_steps) {
    return Contradiction("--confirm-steps", "--steps",
                         "the confirming trial runs at least as many steps as an exploring one");
  }
  // The ranks of the devices found are known only later.
  const int64_t world_size = WorldSize(spec, 1);
  const int64_t share = spec.dataset_size.value_or(INT64_MAX) / world_size;
  if (share < 1) {
    return Contradiction("--dataset-size", "--world-size",
                         absl::StrCat(*spec.dataset_size, " samples are not one for each of ",
                                      world_size, " ranks"));
  }
  if (share < spec.multiple_of) {
    return Contradiction("--multiple-of", "--dataset-size",
                         absl::StrCat("no multiple of ", spec.multiple_of, " is at most the ",
                                      share, " samples of a rank"));
  }
  if (spec.scope == TrialScope::kNode) {
    if (spec.workload.kind != WorkloadKind::kCommand) {
      return absl::InvalidArgumentError(
          "--scope node needs a command that starts a rank for each device, such as -- torchrun "
          "--nproc-per-node=2 train.py --batch {batch}; the trials of a model carry by themselves "
          "what --world-size ranks need");
    }
    if (spec.parallel != 0) {
      return Contradiction("--scope node", "--parallel", "every trial uses all devices at once");
    }
  }
  const bool estimator = spec.strategy != Strategy::kConfirm;
  if (spec.fraction.has_value() && !estimator) {
    return Contradiction("--fraction", "--strategy confirm",
                         "the confirming search fills the budget and lists its margins; use "
                         "--headroom, or a seed estimator such as --strategy ultralytics");
  }
  if (spec.confirm_estimate && !estimator) {
    return Contradiction("--confirm", "--strategy confirm",
                         "it always runs its answer; leave out "
                         "--confirm");
  }
  return absl::OkStatus();
}

}  // namespace autobatch
