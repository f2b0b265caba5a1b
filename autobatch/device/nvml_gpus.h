#ifndef AUTOBATCH_DEVICE_NVML_GPUS_H_
#define AUTOBATCH_DEVICE_NVML_GPUS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/device/nvml_api.h"
#include "autobatch/types/device.h"

namespace autobatch {

// A MIG instance as NVML tells it; its memory and processes are its own, not the GPU's.
struct NvmlInstance {
  Device device;
  int64_t gpu_instance = 0;
  int64_t compute_instance = 0;
};

// A GPU as NVML tells it, whatever CUDA_VISIBLE_DEVICES says. Of each Device are set: uuid, kind,
// name, pci_bus_id, compute_capability, memory.
struct NvmlGpu {
  Device device;
  bool mig_enabled = false;
  std::vector<NvmlInstance> instances;
  // Cores times MHz: to tell the fastest.
  std::optional<int64_t> speed;
};

struct NvmlNode {
  // In NVML's order, by PCI bus. GPUs that this process has no right to are left out, as CUDA does.
  std::vector<NvmlGpu> gpus;
  std::optional<std::string> driver_version;
  // The driver's count: 13000 is 13.0.
  std::optional<int> cuda_driver_version;
  // A GPU that is lost; processes that the driver does not tell.
  std::vector<std::string> warnings;
};

// Asks NVML for everything once; initialises and shuts it down around that. What NVML does not
// support on a device stays absent. Processes in `own_pids` are left out; the others' names come
// from /proc below `root`.
//
// Unavailable: NVML cannot start, without a verdict on the driver (no driver, no right to it).
// FailedPrecondition: the driver loaded into the kernel and its libraries are of different
// versions, so that no CUDA program can run.
absl::StatusOr<NvmlNode> ReadNvml(NvmlApi& nvml, std::span<const int64_t> own_pids,
                                  absl::string_view root);

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_NVML_GPUS_H_
