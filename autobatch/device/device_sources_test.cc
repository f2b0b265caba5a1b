#include "autobatch/device/device_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "autobatch/device/driver_library.h"
#include "autobatch/device/nvml_library.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

// Holds with and without a GPU: a library is there, or the reason why not.
TEST(RealDeviceSourcesTest, ThisMachine_HasEachLibraryOrAReason) {
  const DeviceSources sources = RealDeviceSources();
  EXPECT_NE(sources.driver == nullptr, sources.no_driver.empty());
  EXPECT_NE(sources.nvml == nullptr, sources.no_nvml.empty());
  if (sources.driver == nullptr) {
    EXPECT_THAT(sources.no_driver, HasSubstr("no NVIDIA driver"));
    EXPECT_THAT(sources.no_driver, HasSubstr("libcuda.so.1"));
  }
  EXPECT_FALSE(sources.host_name.empty());
  EXPECT_GE(sources.cuda_needed, 11000);
}

TEST(RealDeviceSourcesTest, Environment_TellsUnsetFromEmpty) {
  const DeviceSources sources = RealDeviceSources();
  ASSERT_EQ(setenv("AUTOBATCH_TEST_EMPTY", "", 1), 0);
  EXPECT_EQ(sources.getenv("AUTOBATCH_TEST_EMPTY"), "");
  EXPECT_FALSE(sources.getenv("AUTOBATCH_TEST_UNSET").has_value());
}

// A library that opens and has none of the functions answers each call, and crashes in none.
TEST(LoadNvmlTest, LibraryWithoutTheFunctions_AnswersFunctionNotFound) {
  const absl::StatusOr<std::unique_ptr<NvmlApi>> nvml = LoadNvml("libm.so.6");
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  unsigned int count = 4;
  NvmlProcess processes[4];
  EXPECT_EQ((*nvml)->Init(), kNvmlFunctionNotFound);
  EXPECT_EQ(
      (*nvml)->DeviceGetRunningProcesses(nullptr, NvmlProcessList::kCompute, &count, processes),
      kNvmlFunctionNotFound);
}

TEST(LoadDriverTest, LibraryWithoutTheFunctions_AnswersNotFound) {
  const absl::StatusOr<std::unique_ptr<DriverApi>> driver = LoadDriver("libm.so.6");
  ASSERT_TRUE(driver.ok()) << driver.status();
  EXPECT_EQ((*driver)->Init(), kDriverNotFound);
  EXPECT_EQ((*driver)->Describe(kDriverNoDevice), "CUDA error 100");
}

TEST(LoadDriverTest, MissingLibrary_IsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(LoadDriver("libnone.so.77").status()));
  EXPECT_TRUE(absl::IsNotFound(LoadNvml("libnone.so.77").status()));
}

}  // namespace
}  // namespace autobatch
