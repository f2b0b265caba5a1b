#ifndef AUTOBATCH_SIMCUDA_PHASES_H_
#define AUTOBATCH_SIMCUDA_PHASES_H_

#include "autobatch/simcuda/device.h"

namespace autobatch::simcuda {

// What a training program is at, judged from outside: the framework runs the backward pass in
// threads of their own; what follows it on another thread is the optimizer, until cuBLAS or cuDNN
// are asked for the next forward pass.
enum class Phase { kSetup, kForward, kBackward, kOptimizer };
inline constexpr int kPhases = 4;
const char* PhaseName(Phase phase);

// Whether the calling thread is one of the backward pass.
bool InBackwardThread();

// With every launch of a program's own kernel, and with every one by a library.
void PhaseAtLaunch(bool by_library);

// After an allocation: the device's use counts for the present phase. AUTOBATCH_SIM_REPORT names a
// file to which a process appends one JSON line at its end: its peak memory by device and phase.
void NoteMemory(Device& device);

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_PHASES_H_
