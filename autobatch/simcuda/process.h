#ifndef AUTOBATCH_SIMCUDA_PROCESS_H_
#define AUTOBATCH_SIMCUDA_PROCESS_H_

#include <sys/types.h>

#include <cstdint>

namespace autobatch::simcuda {

// In clock ticks since boot: with the pid it names a process for good. 0 where there is none, or
// only its remains that nobody has waited for yet.
uint64_t StartTime(pid_t pid);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_PROCESS_H_
