#include "orchestrator/plan/resume.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace autobatch {

absl::StatusOr<ResumePoint> ResumeAt(const PlanRequest& request, const PlanRow& row,
                                     int64_t samples_seen) {
  if (!request.dataset_size.has_value() || !row.steps_per_epoch.has_value()) {
    return absl::FailedPreconditionError(
        "where an epoch ends is not known without the data set's size");
  }
  if (samples_seen < 0) {
    return absl::InvalidArgumentError(absl::StrCat("samples seen ", samples_seen, ": is negative"));
  }
  // At most the data set, so that nothing overflows.
  const int64_t epoch_samples =
      (*row.steps_per_epoch - 1) * row.global_batch + *row.last_step_samples;
  ResumePoint point{.epoch = samples_seen / epoch_samples,
                    .samples_into_epoch = samples_seen % epoch_samples};
  const int64_t rest = epoch_samples - point.samples_into_epoch;
  const bool smaller_last = !request.drop_last && rest % row.global_batch > 0;
  point.steps_left = rest / row.global_batch + (smaller_last ? 1 : 0);
  // What is left is dropped.
  if (point.steps_left == 0) point = {.epoch = point.epoch + 1, .steps_left = *row.steps_per_epoch};
  return point;
}

}  // namespace autobatch
