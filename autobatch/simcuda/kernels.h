#ifndef AUTOBATCH_SIMCUDA_KERNELS_H_
#define AUTOBATCH_SIMCUDA_KERNELS_H_

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "autobatch/simcuda/device.h"
#include "autobatch/simcuda/fat_binary.h"

namespace autobatch::simcuda {

// A translation unit's kernels for all its architectures.
struct KernelModule {
  const void* wrapper = nullptr;
  std::optional<FatBinary> binary;
};

struct Kernel {
  // Mangled.
  std::string name;
  KernelModule* module = nullptr;
  // Not 0: the framework's fill kernel (fill_kernel.h), of elements of so many bytes. Known once
  // the kernel is loaded.
  size_t fill_bytes = 0;
  // Bit n: loaded on the device of that number.
  std::atomic<uint64_t> loaded = 0;
};

// What the compiler's start-up code registers. Costs little, as programs register tens of
// thousands.
KernelModule* RegisterModule(const void* wrapper);
void RegisterKernel(KernelModule* module, const void* host_function, const char* name);

// The kernel behind a host function; one without a module where it was never registered.
Kernel* FindKernel(const void* host_function);

// The code that the device would run; absent: none.
std::optional<PickedCode> CodeFor(Kernel& kernel, const Device& device);

// Everything that a launch means: the configuration is checked, a first launch loads the kernel's
// code (and takes memory for it), faults strike. No work is done. `kernel` is null for one without
// a name.
cudaError_t Launch(Kernel* kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                   cudaStream_t stream);

// Work by a library's own kernels.
void LibraryLaunch();

// A kernel of NCCL's: what it leaves in memory is known, so nothing is forgotten.
cudaError_t CollectiveLaunch();

// Mangled name of the calling thread's last kernel; "" where there is none.
const std::string& LastKernelName();

// Launches and library work of this process so far.
uint64_t LaunchCount();

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_KERNELS_H_
