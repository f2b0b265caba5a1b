#include "autobatch/device/driver_devices.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autobatch/device/pci_bus_id.h"

namespace autobatch {
namespace {

constexpr int kTextLength = 256;

// The oldest driver series for a major version of CUDA, from NVIDIA's release notes.
absl::string_view MinimumDriver(int major) {
  switch (major) {
    case 11:
      return "450";
    case 12:
      return "525";
    case 13:
      return "580";
    default:
      return "";
  }
}

std::string FormatUuid(const DriverUuid& uuid, bool mig) {
  const std::string hex = absl::BytesToHexString(absl::string_view(uuid.bytes, sizeof(uuid.bytes)));
  const absl::string_view h = hex;
  return absl::StrCat(mig ? "MIG-" : "GPU-", h.substr(0, 8), "-", h.substr(8, 4), "-",
                      h.substr(12, 4), "-", h.substr(16, 4), "-", h.substr(20));
}

Device ReadDevice(DriverApi& driver, DriverDevice handle) {
  Device device;
  char text[kTextLength] = {};
  if (driver.DeviceGetName(text, kTextLength, handle) == kDriverSuccess) device.name = text;
  // The driver has no attribute for it; the name of an instance is "… MIG 1g.10gb".
  const bool mig = absl::StrContains(device.name, " MIG ");
  device.kind = mig ? DeviceKind::kMig : DeviceKind::kCuda;
  DriverUuid uuid = {};
  if (driver.DeviceGetUuidV2(&uuid, handle) == kDriverSuccess) device.uuid = FormatUuid(uuid, mig);
  if (driver.DeviceGetPciBusId(text, kTextLength, handle) == kDriverSuccess) {
    device.pci_bus_id = CudaPciBusId(text);
  }
  if (int integrated = 0; driver.DeviceGetAttribute(&integrated, kDriverAttributeIntegrated,
                                                    handle) == kDriverSuccess) {
    device.integrated = integrated != 0;
  }
  int major = 0;
  int minor = 0;
  if (driver.DeviceGetAttribute(&major, kDriverAttributeComputeCapabilityMajor, handle) ==
          kDriverSuccess &&
      driver.DeviceGetAttribute(&minor, kDriverAttributeComputeCapabilityMinor, handle) ==
          kDriverSuccess) {
    device.compute_capability = absl::StrCat(major, ".", minor);
  }
  if (size_t bytes = 0; driver.DeviceTotalMem(&bytes, handle) == kDriverSuccess) {
    device.memory.total_bytes = static_cast<int64_t>(bytes);
  }
  return device;
}

absl::Status InitError(DriverApi& driver, DriverResult result) {
  const std::string text = absl::StrCat("cuInit: ", driver.Describe(result));
  switch (result) {
    case kDriverNoDevice:
      return absl::NotFoundError(absl::StrCat("the CUDA driver sees no device (", text, ")"));
    case kDriverStubLibrary:
      return absl::FailedPreconditionError(absl::StrCat(
          "the libcuda.so.1 that was found is the CUDA toolkit's stub, made for linking "
          "only (",
          text, "); take its folder out of LD_LIBRARY_PATH"));
    case kDriverSystemDriverMismatch:
      return absl::FailedPreconditionError(absl::StrCat(
          "the NVIDIA driver in the kernel and its libraries are of different versions (", text,
          "), usually after an update; reboot, or reload the nvidia kernel "
          "modules"));
    case kDriverCompatNotSupportedOnDevice:
      return absl::FailedPreconditionError(
          absl::StrCat("the CUDA compatibility package does not support this GPU (", text,
                       "); remove it, or install a newer driver"));
    default:
      return absl::UnavailableError(absl::StrCat("the CUDA driver cannot start (", text, ")"));
  }
}

}  // namespace

std::string CudaVersionName(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

absl::Status CheckDriverVersion(std::optional<int> version, int needed) {
  if (!version.has_value() || *version / 1000 >= needed / 1000) return absl::OkStatus();
  const absl::string_view driver = MinimumDriver(needed / 1000);
  return absl::FailedPreconditionError(absl::StrCat(
      "the NVIDIA driver supports CUDA ", CudaVersionName(*version), ", this build needs ",
      CudaVersionName(needed), "; install ",
      driver.empty() ? std::string("a newer driver") : absl::StrCat("driver ", driver, " or newer"),
      ", or build against a LibTorch for CUDA ", *version / 1000, " (LIBTORCH_DIR)"));
}

std::optional<int> DriverVersion(DriverApi& driver) {
  int version = 0;
  if (driver.DriverGetVersion(&version) != kDriverSuccess || version == 0) return std::nullopt;
  return version;
}

absl::StatusOr<std::vector<Device>> EnumerateDriver(DriverApi& driver) {
  if (const DriverResult result = driver.Init(); result != kDriverSuccess) {
    return InitError(driver, result);
  }
  int count = 0;
  if (const DriverResult result = driver.DeviceGetCount(&count); result != kDriverSuccess) {
    return absl::UnavailableError(
        absl::StrCat("the CUDA driver cannot count its devices (", driver.Describe(result), ")"));
  }
  if (count == 0) return absl::NotFoundError("the CUDA driver sees no device");
  std::vector<Device> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    DriverDevice handle = 0;
    if (const DriverResult result = driver.DeviceGet(&handle, ordinal); result != kDriverSuccess) {
      return absl::UnavailableError(absl::StrCat("the CUDA driver does not give device ", ordinal,
                                                 " of ", count, " (", driver.Describe(result),
                                                 ")"));
    }
    devices.push_back(ReadDevice(driver, handle));
  }
  return devices;
}

}  // namespace autobatch
