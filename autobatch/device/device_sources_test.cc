#include "autobatch/device/device_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

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

}  // namespace
}  // namespace autobatch
