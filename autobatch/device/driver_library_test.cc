#include "autobatch/device/driver_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "autobatch/device/driver_devices.h"

namespace autobatch {
namespace {

using ::testing::SizeIs;

TEST(LoadDriverTest, LibraryWithTheFunctions_IsCalledAsItExpects) {
  const absl::StatusOr<std::unique_ptr<DriverApi>> driver =
      LoadDriver("autobatch/device/libfake_nvidia.so");
  ASSERT_TRUE(driver.ok()) << driver.status();
  EXPECT_EQ(DriverVersion(**driver), 12040);
  const absl::StatusOr<std::vector<Device>> devices = EnumerateDriver(**driver);
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_THAT(*devices, SizeIs(1));
  const Device& device = devices->front();
  EXPECT_EQ(device.uuid, "GPU-28282828-2828-2828-2828-282828282828");
  EXPECT_EQ(device.name, "Tesla");
  EXPECT_EQ(device.pci_bus_id, "0000:3B:00.0");
  EXPECT_EQ(device.integrated, true);
  EXPECT_EQ(device.compute_capability, "7.5");
  EXPECT_EQ(device.memory.total_bytes, 900);
  EXPECT_EQ((*driver)->Describe(kDriverNoDevice),
            "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected");
  EXPECT_EQ((*driver)->Describe(kDriverUnknown), "CUDA error 999");
}

// A library that opens and has none of the functions answers each call, and crashes in none.
TEST(LoadDriverTest, LibraryWithoutTheFunctions_AnswersNotFound) {
  const absl::StatusOr<std::unique_ptr<DriverApi>> driver = LoadDriver("libm.so.6");
  ASSERT_TRUE(driver.ok()) << driver.status();
  EXPECT_EQ((*driver)->Init(), kDriverNotFound);
  EXPECT_EQ((*driver)->Describe(kDriverNoDevice), "CUDA error 100");
}

TEST(LoadDriverTest, MissingLibrary_IsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(LoadDriver("libnone.so.77").status()));
}

}  // namespace
}  // namespace autobatch
