#ifndef AUTOBATCH_DEVICE_MEMORY_READER_H_
#define AUTOBATCH_DEVICE_MEMORY_READER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/device/nvml_api.h"
#include "autobatch/types/device.h"

namespace autobatch {

// Reads a GPU's memory again and again, as the driver sees it. Thread-safe as NVML is.
//
//   DeviceMemoryReader reader(std::move(sources.nvml));
//   AB_ASSIGN_OR_RETURN(MemoryInfo now, reader.Read("GPU-..."));
class DeviceMemoryReader {
 public:
  // `nvml` may be null: then nothing can be read. `root`: see DeviceSources. NVML stays initialised
  // while this object lives, which makes each reading cheap.
  explicit DeviceMemoryReader(std::unique_ptr<NvmlApi> nvml, std::string root = "");
  ~DeviceMemoryReader();
  DeviceMemoryReader(const DeviceMemoryReader&) = delete;
  DeviceMemoryReader& operator=(const DeviceMemoryReader&) = delete;

  // Of the GPU or MIG instance of this UUID; `others` are all its processes, our own children too.
  // NotFound: there is none. Unavailable: NVML does not start.
  absl::StatusOr<MemoryInfo> Read(absl::string_view uuid);

 private:
  const std::unique_ptr<NvmlApi> nvml_;
  const std::string root_;
  bool initialised_ = false;
};

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_MEMORY_READER_H_
