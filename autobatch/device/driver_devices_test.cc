#include "autobatch/device/driver_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "autobatch/device/fake_driver.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::array<uint8_t, 16> Uuid(uint8_t first) {
  std::array<uint8_t, 16> uuid = {first, 0x9e};
  uuid[15] = 0x0f;
  return uuid;
}

TEST(CheckDriverVersionTest, OlderMajorVersion_IsNamedAtOnce) {
  const absl::Status status = CheckDriverVersion(12040, 13000);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("supports CUDA 12.4, this build needs 13.0"),
                    HasSubstr("driver 580 or newer")));
}

TEST(CheckDriverVersionTest, SameMajorVersionNewerOrUntold_IsFine) {
  EXPECT_TRUE(CheckDriverVersion(13000, 13020).ok());
  EXPECT_TRUE(CheckDriverVersion(14000, 13000).ok());
  EXPECT_TRUE(CheckDriverVersion(std::nullopt, 13000).ok());
}

TEST(CudaVersionNameTest, DriversCount_BecomesAName) {
  EXPECT_EQ(CudaVersionName(12040), "12.4");
  EXPECT_EQ(CudaVersionName(13000), "13.0");
}

TEST(EnumerateDriverTest, Devices_AreToldInTheDriversOrder) {
  FakeDriver driver;
  driver.devices = {{.uuid = Uuid(0xab),
                     .name = "NVIDIA GB10",
                     .pci_bus_id = "0000:0f:01.0",
                     .integrated = true,
                     .compute_capability_major = 12,
                     .compute_capability_minor = 1,
                     .total = 1000},
                    {.uuid = Uuid(0xcd), .name = "NVIDIA A100 MIG 1g.5gb", .integrated = {}}};
  const absl::StatusOr<std::vector<Device>> devices = EnumerateDriver(driver);
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_THAT(*devices, SizeIs(2));
  const Device& first = (*devices)[0];
  EXPECT_EQ(first.uuid, "GPU-ab9e0000-0000-0000-0000-00000000000f");
  EXPECT_EQ(first.kind, DeviceKind::kCuda);
  EXPECT_EQ(first.name, "NVIDIA GB10");
  EXPECT_EQ(first.pci_bus_id, "0000:0F:01.0");
  EXPECT_EQ(first.integrated, true);
  EXPECT_EQ(first.compute_capability, "12.1");
  EXPECT_EQ(first.memory.total_bytes, 1000);
  EXPECT_FALSE(first.memory.free_bytes.has_value());
  const Device& second = (*devices)[1];
  EXPECT_EQ(second.uuid, "MIG-cd9e0000-0000-0000-0000-00000000000f");
  EXPECT_EQ(second.kind, DeviceKind::kMig);
  EXPECT_FALSE(second.pci_bus_id.has_value());
  EXPECT_FALSE(second.integrated.has_value());
  EXPECT_FALSE(second.compute_capability.has_value());
  EXPECT_FALSE(second.memory.total_bytes.has_value());
}

TEST(EnumerateDriverTest, InitFails_EachReasonIsNamed) {
  const struct {
    DriverResult init;
    absl::StatusCode code;
    const char* text;
  } cases[] = {
      {kDriverNoDevice, absl::StatusCode::kNotFound, "sees no device"},
      {kDriverStubLibrary, absl::StatusCode::kFailedPrecondition, "stub"},
      {kDriverSystemDriverMismatch, absl::StatusCode::kFailedPrecondition, "reboot"},
      {kDriverCompatNotSupportedOnDevice, absl::StatusCode::kFailedPrecondition, "compatibility"},
      {kDriverUnknown, absl::StatusCode::kUnavailable, "CUDA_ERROR_999"},
  };
  for (const auto& c : cases) {
    FakeDriver driver;
    driver.init = c.init;
    const absl::Status status = EnumerateDriver(driver).status();
    EXPECT_EQ(status.code(), c.code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.text));
  }
}

TEST(EnumerateDriverTest, NoDevicesOrOneThatIsRefused_IsAnError) {
  FakeDriver driver;
  EXPECT_TRUE(absl::IsNotFound(EnumerateDriver(driver).status()));
  driver.devices = {{}};
  driver.get = kDriverInvalidDevice;
  EXPECT_TRUE(absl::IsUnavailable(EnumerateDriver(driver).status()));
}

TEST(DriverVersionTest, Untold_IsAbsent) {
  FakeDriver driver;
  EXPECT_EQ(DriverVersion(driver), 13000);
  driver.version.reset();
  EXPECT_FALSE(DriverVersion(driver).has_value());
}

}  // namespace
}  // namespace autobatch
