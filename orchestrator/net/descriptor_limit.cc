#include "orchestrator/net/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace autobatch {

int64_t RaiseDescriptorLimit(int64_t wanted) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
  const rlim_t target = std::min(static_cast<rlim_t>(wanted), limit.rlim_max);
  if (target > limit.rlim_cur) {
    rlimit raised = limit;
    raised.rlim_cur = target;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return static_cast<int64_t>(std::min(limit.rlim_cur, rlim_t{INT64_MAX}));
}

}  // namespace autobatch
