#ifndef AUTOBATCH_SIMCUDA_NCCL_GROUP_H_
#define AUTOBATCH_SIMCUDA_NCCL_GROUP_H_

#include <nccl.h>

#include "autobatch/simcuda/nccl_collective.h"
#include "autobatch/simcuda/nccl_communicator.h"

namespace autobatch::simcuda {

// Calls between ncclGroupStart and ncclGroupEnd, of one thread. Groups nest; the outermost end
// counts.
void StartGroup();
// The first error of what was in it.
ncclResult_t EndGroup();

// At once, or at the end of the thread's group.
ncclResult_t IssueInGroup(Communicator& communicator, const Collective& collective,
                          cudaStream_t stream);

// A blocking communicator is waited for, at the end of the thread's group where there is one; of
// another one it is said that it is in progress.
ncclResult_t WaitInGroup(Communicator& communicator);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_NCCL_GROUP_H_
