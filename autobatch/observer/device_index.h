#ifndef AUTOBATCH_OBSERVER_DEVICE_INDEX_H_
#define AUTOBATCH_OBSERVER_DEVICE_INDEX_H_

#include "autobatch/types/observed_memory.h"

namespace autobatch::observer {

// No device of the trial: what is allocated there is none of its business.
inline constexpr int kNoDevice = -1;

// Which of the trial's devices is meant, asked of CUDA itself: a program may see fewer of them than
// the trial has, in another order. Where the trial has one device it is that one, and nothing is
// asked. May be called by several threads.
//
// The one that CUDA gives this number in this process.
int IndexOfOrdinal(const ObservedDevices& trial, int ordinal);
// Of the driver's current context.
int IndexOfContext(const ObservedDevices& trial);
// The runtime's current device.
int IndexOfRuntime(const ObservedDevices& trial);

}  // namespace autobatch::observer

#endif  // AUTOBATCH_OBSERVER_DEVICE_INDEX_H_
