#ifndef AUTOBATCH_WORKER_NVML_FREE_H_
#define AUTOBATCH_WORKER_NVML_FREE_H_

#include <cstdint>
#include <optional>
#include <string>

namespace autobatch {

// Free bytes of a device by the driver's management library, which needs no CUDA context: the only
// way to see a device before this process has one. Absent where the library or the device is
// missing. Loads the library once; for one thread.
std::optional<int64_t> NvmlFreeBytes(const std::string& uuid);

}  // namespace autobatch

#endif  // AUTOBATCH_WORKER_NVML_FREE_H_
