#include "autobatch/device/nvml_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "autobatch/device/nvml_gpus.h"

namespace autobatch {
namespace {

using ::testing::SizeIs;

constexpr char kFakeLibrary[] = "autobatch/device/libfake_nvidia.so";

TEST(LoadNvmlTest, LibraryWithTheFunctions_IsCalledAsItExpects) {
  const absl::StatusOr<std::unique_ptr<NvmlApi>> nvml = LoadNvml(kFakeLibrary);
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  const absl::StatusOr<NvmlNode> node = ReadNvml(**nvml, {}, "/nonexistent");
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->driver_version, "440.33.01");
  EXPECT_EQ(node->cuda_driver_version, 10020);
  EXPECT_THAT(node->warnings, SizeIs(2)) << "the first two of three handles are refused";
  ASSERT_THAT(node->gpus, SizeIs(1));
  const Device& device = node->gpus[0].device;
  EXPECT_EQ(device.uuid, "GPU-1");
  EXPECT_EQ(device.name, "Tesla");
  EXPECT_EQ(device.pci_bus_id, "0000:3B:00.0");
  EXPECT_EQ(device.compute_capability, "7.5");
  EXPECT_EQ(device.memory.total_bytes, 900);
  EXPECT_EQ(device.memory.free_bytes, 600);
  ASSERT_THAT(device.memory.others, SizeIs(3));
  EXPECT_EQ(device.memory.others[0].pid, 11);
  EXPECT_EQ(device.memory.others[0].bytes, 110);
  EXPECT_EQ(device.memory.others[1].pid, 12);
  EXPECT_EQ(device.memory.others[1].bytes, 120);
  EXPECT_EQ(device.memory.others[2].pid, 21);
  EXPECT_EQ(device.memory.others[2].bytes, 210);
  EXPECT_FALSE(node->gpus[0].mig_enabled) << "the library is older than MIG";
  EXPECT_FALSE(node->gpus[0].speed.has_value()) << "it cannot count cores either";
}

TEST(LoadNvmlTest, FirstMemoryCall_HasTheLayoutTotalFreeUsed) {
  const absl::StatusOr<std::unique_ptr<NvmlApi>> nvml = LoadNvml(kFakeLibrary);
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  NvmlMemory memory = {};
  EXPECT_EQ((*nvml)->DeviceGetMemoryInfo(nullptr, &memory), kNvmlSuccess);
  EXPECT_EQ(memory.total, 1000u);
  EXPECT_EQ(memory.free, 600u);
  EXPECT_EQ(memory.used, 400u);
  unsigned int mhz = 0;
  EXPECT_EQ((*nvml)->DeviceGetMaxSmClock(nullptr, &mhz), kNvmlSuccess);
  EXPECT_EQ(mhz, 1590u);
}

TEST(LoadNvmlTest, TooLittleRoom_OldListSaysHowMuchIsNeeded) {
  const absl::StatusOr<std::unique_ptr<NvmlApi>> nvml = LoadNvml(kFakeLibrary);
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  NvmlProcess process = {};
  unsigned int count = 1;
  EXPECT_EQ(
      (*nvml)->DeviceGetRunningProcesses(nullptr, NvmlProcessList::kCompute, &count, &process),
      kNvmlInsufficientSize);
  EXPECT_EQ(count, 2u);
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

TEST(LoadNvmlTest, MissingLibrary_IsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(LoadNvml("libnone.so.77").status()));
}

}  // namespace
}  // namespace autobatch
