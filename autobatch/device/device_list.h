#ifndef AUTOBATCH_DEVICE_DEVICE_LIST_H_
#define AUTOBATCH_DEVICE_DEVICE_LIST_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "autobatch/device/device_request.h"
#include "autobatch/device/device_sources.h"
#include "autobatch/types/device.h"

namespace autobatch {

// What a node offers, as far as this process may use it.
struct DeviceList {
  // In the order asked for. Never empty.
  std::vector<Device> devices;
  // Every visible CUDA device in CUDA's order, asked for or not.
  std::vector<Device> visible;
  // For people: why a list was cut, why the CPU stands in, which value could not be read.
  std::vector<std::string> warnings;
  // "580.65.06"
  std::optional<std::string> driver_version;
  // The newest CUDA that the driver runs: "13.0".
  std::optional<std::string> cuda_driver_version;
  // CUDA_VISIBLE_DEVICES as it was; absent: unset.
  std::optional<std::string> cuda_visible_devices;
};

// Finds the devices asked for, with their memory and who else uses it; no context is made.
//
//   AB_ASSIGN_OR_RETURN(DeviceRequest request, ParseDeviceRequest("cuda:0,2"));
//   AB_ASSIGN_OR_RETURN(DeviceList list, ListDevices(request, RealDeviceSources()));
//
// NotFound: no device, and why (no driver, an empty list, an index that is not visible). Also where
// there are GPUs that cannot be used (a driver older than this build's CUDA, one that does not
// match its own libraries): the CPU never stands in for those unasked.
absl::StatusOr<DeviceList> ListDevices(const DeviceRequest& request, const DeviceSources& sources);

// The same list after the CUDA driver's own verdict: what it enumerates for a child
// (WorkerDescription.devices). The driver is believed and each difference is a warning
// (see verdicts.h). A list of the CPU alone comes back as it is. NotFound as above.
absl::StatusOr<DeviceList> ApplyVerdict(const DeviceRequest& request, const DeviceSources& sources,
                                        DeviceList list, std::span<const Device> drivers);

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_DEVICE_LIST_H_
