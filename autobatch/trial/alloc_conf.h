#ifndef AUTOBATCH_TRIAL_ALLOC_CONF_H_
#define AUTOBATCH_TRIAL_ALLOC_CONF_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// The settings of PyTorch's CUDA allocator (PYTORCH_CUDA_ALLOC_CONF and its newer name
// PYTORCH_ALLOC_CONF) with a hard limit put in.
struct AllocConf {
  std::string text;
  // What of the user's own had to give way; empty: nothing.
  std::string warning;
};

// `conf`, the user's own, with per_process_memory_fraction set to `fraction` of the device, so that
// the allocator answers out of memory at the budget; everything else stays. A lower fraction of the
// user's own stays too: training will meet it.
//
//   MergeAllocConf("expandable_segments:True", 0.5)
//       // "expandable_segments:True,per_process_memory_fraction:0.500000"
//
// FailedPrecondition: the user has chosen the driver's allocator (backend:cudaMallocAsync), which
// keeps no peaks and knows no such limit.
absl::StatusOr<AllocConf> MergeAllocConf(absl::string_view conf, double fraction);

// Whether a log says that this PyTorch does not know per_process_memory_fraction (before 2.10).
bool RefusesMemoryFraction(absl::string_view log);

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_ALLOC_CONF_H_
