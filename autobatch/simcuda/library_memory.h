#ifndef AUTOBATCH_SIMCUDA_LIBRARY_MEMORY_H_
#define AUTOBATCH_SIMCUDA_LIBRARY_MEMORY_H_

#include <cstdint>

#include "autobatch/simcuda/session.h"

namespace autobatch::simcuda {

// Memory of the current device that one of NVIDIA's libraries takes for itself, given back in the
// end.
class LibraryMemory {
 public:
  LibraryMemory() = default;
  ~LibraryMemory() {
    if (device_ != nullptr) device_->GiveMemory(bytes_);
  }

  LibraryMemory(const LibraryMemory&) = delete;
  LibraryMemory& operator=(const LibraryMemory&) = delete;

  // At most once. Whether there was enough, and a device at all.
  bool Take(double bytes) {
    cudaError_t error;
    Device* const device = Enter(error);
    if (device == nullptr || !device->TakeMemory(static_cast<uint64_t>(bytes))) return false;
    device_ = device;
    bytes_ = static_cast<uint64_t>(bytes);
    return true;
  }

 private:
  Device* device_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace autobatch::simcuda

#endif  // AUTOBATCH_SIMCUDA_LIBRARY_MEMORY_H_
