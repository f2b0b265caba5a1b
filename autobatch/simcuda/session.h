#ifndef AUTOBATCH_SIMCUDA_SESSION_H_
#define AUTOBATCH_SIMCUDA_SESSION_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <mutex>

#include "autobatch/simcuda/node.h"

// Makes a function part of the library's face; everything else is hidden.
#define SIMCUDA_EXPORT extern "C" __attribute__((visibility("default")))

namespace autobatch::simcuda {

// The calling thread's device, by CUDA's number.
int CurrentOrdinal();
void SetCurrentOrdinal(int ordinal);

// The calling thread's device with its context, created where it must be; null where `error` says
// why. Every call that a real context would serve begins with it.
Device* Enter(cudaError_t& error);

// Remembers the error for cudaGetLastError and returns it.
cudaError_t Report(cudaError_t error);
// For cudaGetLastError and cudaPeekAtLastError.
cudaError_t LastError(bool clear);

// From now on every call that needs the context returns it. The first one stays. Which device is
// current can still be asked and set: the framework does so while it cleans up.
void Break(cudaError_t error);
// Success while nothing is broken.
cudaError_t Broken();
// What a program hears of a device that fell off the bus.
inline constexpr cudaError_t kDeviceLost = cudaErrorUnknown;
bool DeviceLost();

// The lock of whoever has no better one: tables that many calls share.
std::mutex& TableMutex();

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_SESSION_H_
