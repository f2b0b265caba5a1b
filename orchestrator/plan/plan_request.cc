#include "orchestrator/plan/plan_request.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/enum_names.h"

namespace autobatch {
namespace {

absl::Status Invalid(absl::string_view field, const absl::AlphaNum& value,
                     absl::string_view right) {
  return absl::InvalidArgumentError(absl::StrCat(field, " ", value, ": ", right));
}

absl::Status CheckRange(absl::string_view field, std::optional<int64_t> value, int64_t most) {
  if (!value.has_value() || (*value >= 1 && *value <= most)) return absl::OkStatus();
  return Invalid(field, *value, absl::StrCat("from 1 to ", most, " is possible"));
}

absl::Status CheckRanges(const PlanRequest& request) {
  AB_RETURN_IF_ERROR(CheckRange("global_batch", request.global_batch, kMaxSamples));
  AB_RETURN_IF_ERROR(CheckRange("accumulation", request.accumulation, kMaxAccumulation));
  AB_RETURN_IF_ERROR(CheckRange("min_world_size", request.min_world_size, kMaxWorldSize));
  AB_RETURN_IF_ERROR(CheckRange("max_world_size", request.max_world_size, kMaxWorldSize));
  AB_RETURN_IF_ERROR(CheckRange("model_parallel_size", request.model_parallel_size, kMaxWorldSize));
  AB_RETURN_IF_ERROR(CheckRange("dataset_size", request.dataset_size, kMaxSamples));
  AB_RETURN_IF_ERROR(CheckRange("reference_batch", request.reference_batch, kMaxSamples));
  // Written so that NaN is refused.
  if (request.band_percent.has_value() &&
      !(*request.band_percent > 0 && *request.band_percent <= kMaxBandPercent)) {
    return Invalid("band_percent", *request.band_percent,
                   absl::StrCat("above 0 and up to ", kMaxBandPercent, " is possible"));
  }
  return absl::OkStatus();
}

// A field that the rule needs, or one that it has no use for: it was meant for another rule.
absl::Status CheckUse(const PlanRequest& request, absl::string_view field, bool given,
                      bool needed) {
  if (given == needed) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": the rule ", EnumName(request.rule),
                                                 needed ? " needs it" : " has no use for it"));
}

absl::Status CheckRule(const PlanRequest& request) {
  const bool largest = request.rule == GlobalBatchRule::kLargest;
  AB_RETURN_IF_ERROR(CheckUse(request, "global_batch", request.global_batch.has_value(), !largest));
  AB_RETURN_IF_ERROR(CheckUse(request, "band_percent", request.band_percent.has_value(),
                              request.rule == GlobalBatchRule::kBand));
  if (!largest && request.accumulation != 1) {
    return Invalid(
        "accumulation", request.accumulation,
        absl::StrCat("the rule ", EnumName(request.rule),
                     " finds the micro-steps that its global batch needs; leave it out"));
  }
  return absl::OkStatus();
}

absl::Status CheckWorlds(const PlanRequest& request) {
  const int64_t least = request.min_world_size.value_or(1);
  const int64_t most = request.max_world_size.value_or(kMaxWorldSize);
  if (least > most) {
    return Invalid("min_world_size", least, absl::StrCat("is above max_world_size ", most));
  }
  if (request.min_world_size.has_value() && request.max_world_size.has_value() &&
      most - least >= kMaxPlanRows) {
    return Invalid("min_world_size", least,
                   absl::StrCat("up to max_world_size ", most, " are ", most - least + 1,
                                " rows, and a plan has up to ", kMaxPlanRows, ": at least ",
                                most - kMaxPlanRows + 1, " is possible"));
  }
  // WORLD_SIZE counts processes.
  if (request.model_parallel_size > 1 && request.max_world_size.has_value() &&
      *request.max_world_size > kMaxWorldSize / request.model_parallel_size) {
    return Invalid(
        "model_parallel_size", request.model_parallel_size,
        absl::StrCat("times max_world_size ", most, " is more than ", kMaxWorldSize, " processes"));
  }
  return absl::OkStatus();
}

absl::Status CheckDataset(const PlanRequest& request) {
  if (request.drop_last && !request.dataset_size.has_value()) {
    return absl::InvalidArgumentError("drop_last needs dataset_size: which samples are the last?");
  }
  // A band may still reach below the data set: MakePlan sees to that.
  if (request.rule == GlobalBatchRule::kExact && request.dataset_size.has_value() &&
      *request.global_batch > *request.dataset_size) {
    return Invalid("global_batch", *request.global_batch,
                   absl::StrCat("is more than the data set's ", *request.dataset_size,
                                " samples, the most that is possible"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateRequest(const PlanRequest& request) {
  AB_RETURN_IF_ERROR(CheckRanges(request));
  AB_RETURN_IF_ERROR(CheckRule(request));
  AB_RETURN_IF_ERROR(CheckWorlds(request));
  AB_RETURN_IF_ERROR(CheckDataset(request));
  const bool scaled = request.learning_rate != LearningRateRule::kNone;
  if (scaled != request.reference_batch.has_value()) {
    return absl::InvalidArgumentError(
        scaled
            ? absl::StrCat("learning_rate ", EnumName(request.learning_rate),
                           " needs reference_batch: the global batch that the rate was tuned for")
            : "reference_batch means nothing to learning_rate none; linear or sqrt is possible");
  }
  return absl::OkStatus();
}

}  // namespace autobatch
