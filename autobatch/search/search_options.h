#ifndef AUTOBATCH_SEARCH_SEARCH_OPTIONS_H_
#define AUTOBATCH_SEARCH_SEARCH_OPTIONS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "autobatch/memory/budget.h"
#include "autobatch/types/report.h"

namespace autobatch {

struct SearchOptions {
  // The answer may lie this far below the largest batch that runs, as a fraction in [0, 0.5]; one
  // sample where that is more. A finer answer costs more trials near the limit.
  double precision = 0.03;
  // Samples. No answer is larger, whatever fits; and why: kMaxBatch, or kDataset where the data set
  // of one rank is what ends.
  int64_t max_batch = 65536;
  BatchBound max_batch_bound = BatchBound::kMaxBatch;
  // Samples. The search starts here, and fails where this does not run.
  int64_t min_batch = 1;
  // The answer is a multiple of this, or a power of two: rounded down, and the rounded one
  // confirmed.
  int64_t multiple_of = 1;
  bool power_of_two = false;
  // Optimizer steps. Optimizer state is born in step 1, so the peak is step 2; allocator retries
  // count from step 4, so a confirming trial needs more than 4. One whose allocator has not come to
  // rest by then goes on.
  int64_t explore_steps = 3;
  int64_t confirm_steps = 8;
  // What the training step carries. Exploring trials carry all of it too, so that their peaks and
  // the confirming trial's lie on one curve.
  int64_t accumulation = 1;
  bool gradient_buckets = false;
  // Samples of the evaluation step: absent, as many as the trial's batch; 0, no evaluation.
  std::optional<int64_t> evaluation_batch;
  // Stop where twice the batch would bring less than this much more throughput (0.05: 5 %); absent:
  // memory is what counts.
  std::optional<double> throughput_knee;
  int64_t seed = 0;
  // An answer from an earlier search, or of an identical device, and what bound it: verified by one
  // trial. Where that fails a full search follows.
  std::optional<int64_t> cached_batch;
  BatchBound cached_bound = BatchBound::kMemory;
  // `trials_carry_gradient_buckets` and `trials_run_evaluation` are set from the fields above.
  BudgetOptions budget;
};

// InvalidArgument: sizes or fractions that make no sense. The rules on batches and the budget have
// checks of their own.
absl::Status Validate(const SearchOptions& options);

}  // namespace autobatch

#endif  // AUTOBATCH_SEARCH_SEARCH_OPTIONS_H_
