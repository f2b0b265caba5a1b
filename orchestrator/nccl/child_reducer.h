#ifndef AUTOBATCH_NCCL_CHILD_REDUCER_H_
#define AUTOBATCH_NCCL_CHILD_REDUCER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "orchestrator/nccl/reducer.h"

namespace autobatch {

struct ReducePrograms {
  // orchestrator/nccl:reduce.
  std::string reduce;
  // autobatch/trial:guard.
  std::string guard;
  // On top of this process's own; simulated devices come in by it.
  std::vector<std::pair<std::string, std::string>> environment;
  // libnccl.so.2 by path; empty: where nccl_candidates.h looks.
  std::string nccl_library;
  // How long a child may take over aborting its communicators before it is killed: ncclCommAbort is
  // known to hang.
  absl::Duration abort_grace = absl::Seconds(3);
};

// The real one: NCCL and CUDA live in a child process of each call, since either may hang, crash or
// keep device memory. Only mains call this.
std::unique_ptr<Reducer> NewChildReducer(ReducePrograms programs);

}  // namespace autobatch

#endif  // AUTOBATCH_NCCL_CHILD_REDUCER_H_
