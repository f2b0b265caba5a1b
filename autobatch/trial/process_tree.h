#ifndef AUTOBATCH_TRIAL_PROCESS_TREE_H_
#define AUTOBATCH_TRIAL_PROCESS_TREE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace autobatch {

// The processes below one process, and their host memory, as procfs tells it at this moment.
struct ProcessTree {
  std::vector<int64_t> pids;
  // Resident bytes of all of them, mapped files included, what they share counted once. Of the
  // process with the greatest peak it is that peak, so that what it took between two readings is
  // not missed.
  int64_t resident_bytes = 0;
};

// Every living descendant of `root`, which is not one of them itself. `proc`: where procfs is
// mounted. Processes that end meanwhile are left out.
ProcessTree ReadProcessTree(int64_t root, const std::string& proc = "/proc");

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_PROCESS_TREE_H_
