#include "autobatch/search/search_options.h"

#include "absl/strings/str_cat.h"

namespace autobatch {

absl::Status Validate(const SearchOptions& options) {
  if (!(options.precision >= 0 && options.precision <= 0.5)) {
    return absl::InvalidArgumentError(
        absl::StrCat("precision ", options.precision, ": from 0 to 0.5"));
  }
  if (options.max_batch_bound != BatchBound::kMaxBatch &&
      options.max_batch_bound != BatchBound::kDataset) {
    return absl::InvalidArgumentError("the largest batch is bound by an option or by the data set");
  }
  if (options.explore_steps < 2) {
    return absl::InvalidArgumentError(absl::StrCat("explore steps ", options.explore_steps,
                                                   ": at least 2, the peak comes after the first"));
  }
  if (options.confirm_steps < options.explore_steps) {
    return absl::InvalidArgumentError(absl::StrCat("confirm steps ", options.confirm_steps,
                                                   ": at least the explore steps, ",
                                                   options.explore_steps));
  }
  if (options.accumulation < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("accumulation ", options.accumulation, ": at least 1"));
  }
  if (options.evaluation_batch.value_or(0) < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("evaluation batch ", *options.evaluation_batch, ": at least 0"));
  }
  if (options.throughput_knee.has_value() &&
      !(*options.throughput_knee > 0 && *options.throughput_knee < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("throughput knee ", *options.throughput_knee, ": between 0 and 1"));
  }
  return absl::OkStatus();
}

}  // namespace autobatch
