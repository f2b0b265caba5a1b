#ifndef AUTOBATCH_NCCL_NCCL_LIBRARY_H_
#define AUTOBATCH_NCCL_NCCL_LIBRARY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "orchestrator/nccl/nccl_api.h"
#include "orchestrator/nccl/reduce_answer.h"

namespace autobatch {

// NCCL, opened at run time, and what it is.
struct LoadedNccl {
  std::unique_ptr<NcclApi> api;
  NcclDescription description;
};

// The NCCL that this process has already (by LD_PRELOAD, as users replace it), else the first of
// `candidates` that opens. FailedPrecondition: "no NCCL: ..." and why of each, or the function that
// the library lacks, or a version that we cannot use. Only the reduce program calls this.
absl::StatusOr<LoadedNccl> LoadNccl(const std::vector<std::string>& candidates);

// "2.28.9", of 2.14 or later: before, ranks could not be waited for with a deadline.
// FailedPrecondition says so.
absl::StatusOr<std::string> UsableNcclVersion(NcclApi& nccl);

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_NCCL_LIBRARY_H_
