#ifndef AUTOBATCH_DEVICE_FAKE_DRIVER_H_
#define AUTOBATCH_DEVICE_FAKE_DRIVER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autobatch/device/driver_api.h"

namespace autobatch {

// A device that the driver enumerates; an absent value is one that it does not tell.
struct FakeDriverDevice {
  std::array<uint8_t, 16> uuid = {};
  std::string name = "NVIDIA A100-SXM4-80GB";
  std::optional<std::string> pci_bus_id;
  std::optional<bool> integrated = false;
  std::optional<int> compute_capability_major;
  int compute_capability_minor = 0;
  std::optional<size_t> total;
};

class FakeDriver final : public DriverApi {
 public:
  std::vector<FakeDriverDevice> devices;
  std::optional<int> version = 13000;
  DriverResult init = kDriverSuccess;
  DriverResult get = kDriverSuccess;
  // Calls of Init.
  int inits = 0;

  DriverResult Init() override;
  DriverResult DriverGetVersion(int* number) override;
  DriverResult DeviceGetCount(int* count) override;
  DriverResult DeviceGet(DriverDevice* device, int ordinal) override;
  DriverResult DeviceGetUuidV2(DriverUuid* uuid, DriverDevice device) override;
  DriverResult DeviceGetName(char* name, int length, DriverDevice device) override;
  DriverResult DeviceGetPciBusId(char* id, int length, DriverDevice device) override;
  DriverResult DeviceGetAttribute(int* value, DriverAttribute attribute,
                                  DriverDevice device) override;
  DriverResult DeviceTotalMem(size_t* bytes, DriverDevice device) override;
  std::string Describe(DriverResult result) override;
};

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_FAKE_DRIVER_H_
