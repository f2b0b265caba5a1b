#ifndef AUTOBATCH_NCCL_NCCL_CANDIDATES_H_
#define AUTOBATCH_NCCL_NCCL_CANDIDATES_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace autobatch {

// Where libnccl.so.2 may be, the most likely to be the training job's own first: the wheel beside
// $LIBTORCH_DIR, the wheels of the Python environment in force ($VIRTUAL_ENV, $CONDA_PREFIX), then
// what the loader finds by name (LD_LIBRARY_PATH, where the build found LibTorch, the system's).
// Files that do not exist are left out.
std::vector<std::string> NcclCandidates(
    const std::function<std::optional<std::string>(const char*)>& getenv);

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_NCCL_CANDIDATES_H_
