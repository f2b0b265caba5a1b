#ifndef ORCHESTRATOR_PLAN_RESUME_H_
#define ORCHESTRATOR_PLAN_RESUME_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "orchestrator/plan/plan_request.h"
#include "orchestrator/plan/plan_row.h"

namespace autobatch {

// Where training goes on in a world of another size. Steps and epochs mean different things in
// different worlds; samples do not, so that a checkpoint keeps the samples that were trained on.
struct ResumePoint {
  // Whole epochs, and samples of the next one that were trained on already.
  int64_t epoch = 0;
  int64_t samples_into_epoch = 0;
  // Optimizer steps that are left of that epoch, the same on every rank.
  int64_t steps_left = 0;
};

// After `samples_seen` samples in worlds of any size, in the world of `row`. Where the global batch
// was another one and drop_last leaves out its last step, epochs are counted as this row has them.
// FailedPrecondition if the request does not know the data set, InvalidArgument if `samples_seen`
// is negative.
absl::StatusOr<ResumePoint> ResumeAt(const PlanRequest& request, const PlanRow& row,
                                     int64_t samples_seen);

}  // namespace autobatch

#endif  // ORCHESTRATOR_PLAN_RESUME_H_
