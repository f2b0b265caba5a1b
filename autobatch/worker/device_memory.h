#ifndef AUTOBATCH_WORKER_DEVICE_MEMORY_H_
#define AUTOBATCH_WORKER_DEVICE_MEMORY_H_

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "autobatch/types/device.h"
#include "autobatch/types/observation.h"

namespace autobatch {

// The memory of the one device that this process trains on: what the allocator holds of it, what
// the driver says of it, and the hard limit. The step code is the same on every device because of
// it.
//
// Used by one thread; allocations may come from any. Methods throw what CUDA's errors throw
// (c10::Error): after an illegal access nothing of the device answers any more.
class DeviceMemory {
 public:
  // As the driver (CUDA) or the kernel (CPU) sees the whole device.
  struct View {
    std::optional<int64_t> total_bytes;
    std::optional<int64_t> free_bytes;
  };

  virtual ~DeviceMemory() = default;

  virtual c10::Device device() const = 0;
  // "GPU-…" or "MIG-…"; absent on a CPU, whose name is the parent's matter.
  virtual std::optional<std::string> uuid() const = 0;
  virtual View Query() const = 0;

  // The most bytes that the allocator may hold from now on; absent, no limit.
  virtual void SetLimit(std::optional<int64_t> bytes) = 0;
  // Greatest use since ResetPeaks.
  virtual MemoryPeak Peak() const = 0;
  virtual void ResetPeaks() = 0;
  // Bytes held by the allocator now, cache included.
  virtual int64_t HeldBytes() const = 0;
  // Device memory that this process holds outside its allocator; absent where nobody can tell.
  virtual std::optional<int64_t> ContextBytes() const = 0;
  // Times that the allocator gave its cache back and tried again, since the process started.
  virtual int64_t Retries() const = 0;

  // The bytes of the first allocation that was refused since ClearRefusal.
  virtual std::optional<int64_t> RefusedBytes() const = 0;
  virtual void ClearRefusal() = 0;

  // Gives back all that no tensor holds, so that the next trial starts clean.
  virtual void ReleaseCache() = 0;
  // Waits for the device: times and errors then belong to what ran before.
  virtual void Synchronize() = 0;
};

// Host memory under the budgeted allocator. Call it before any tensor exists.
std::unique_ptr<DeviceMemory> MakeCpuMemory();

// CUDA's first visible device (the parent makes the wanted one the only one visible), with its
// context created. Unavailable when there is none or the driver does not fit, in the driver's
// words.
absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeCudaMemory();

// Either of them.
absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeDeviceMemory(DeviceKind kind);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_DEVICE_MEMORY_H_
