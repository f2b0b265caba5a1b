#include "autobatch/device/fake_driver.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

template <typename From, typename To>
DriverResult Give(const std::optional<From>& from, To* to) {
  if (!from.has_value()) return kDriverUnknown;
  *to = static_cast<To>(*from);
  return kDriverSuccess;
}

DriverResult Copy(const std::optional<std::string>& from, char* to, int length) {
  if (!from.has_value()) return kDriverUnknown;
  std::strncpy(to, from->c_str(), static_cast<size_t>(length) - 1);
  to[length - 1] = '\0';
  return kDriverSuccess;
}

}  // namespace

DriverResult FakeDriver::Init() {
  ++inits;
  return init;
}

DriverResult FakeDriver::DriverGetVersion(int* number) { return Give(version, number); }

DriverResult FakeDriver::DeviceGetCount(int* count) {
  *count = static_cast<int>(devices.size());
  return inits > 0 ? kDriverSuccess : kDriverNotInitialized;
}

DriverResult FakeDriver::DeviceGet(DriverDevice* device, int ordinal) {
  *device = ordinal;
  return get;
}

DriverResult FakeDriver::DeviceGetUuidV2(DriverUuid* uuid, DriverDevice device) {
  std::memcpy(uuid->bytes, devices[static_cast<size_t>(device)].uuid.data(), sizeof(uuid->bytes));
  return kDriverSuccess;
}

DriverResult FakeDriver::DeviceGetName(char* name, int length, DriverDevice device) {
  return Copy(devices[static_cast<size_t>(device)].name, name, length);
}

DriverResult FakeDriver::DeviceGetPciBusId(char* id, int length, DriverDevice device) {
  return Copy(devices[static_cast<size_t>(device)].pci_bus_id, id, length);
}

DriverResult FakeDriver::DeviceGetAttribute(int* value, DriverAttribute attribute,
                                            DriverDevice device) {
  const FakeDriverDevice& gpu = devices[static_cast<size_t>(device)];
  switch (attribute) {
    case kDriverAttributeIntegrated:
      return Give(gpu.integrated, value);
    case kDriverAttributeComputeCapabilityMajor:
      return Give(gpu.compute_capability_major, value);
    case kDriverAttributeComputeCapabilityMinor:
      *value = gpu.compute_capability_minor;
      return kDriverSuccess;
  }
  return kDriverUnknown;
}

DriverResult FakeDriver::DeviceTotalMem(size_t* bytes, DriverDevice device) {
  return Give(devices[static_cast<size_t>(device)].total, bytes);
}

std::string FakeDriver::Describe(DriverResult result) {
  return absl::StrCat("CUDA_ERROR_", static_cast<int>(result));
}

}  // namespace autobatch
