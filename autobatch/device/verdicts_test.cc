#include "autobatch/device/verdicts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Device Ours(std::string uuid, int64_t index) {
  Device device;
  device.uuid = std::move(uuid);
  device.kind = DeviceKind::kCuda;
  device.name = "NVIDIA A100";
  device.visible_index = index;
  device.physical_ordinal = 4 + index;
  device.origin = "CUDA_VISIBLE_DEVICES=4,5 entry";
  device.memory.total_bytes = 1000;
  device.memory.free_bytes = 900;
  device.memory.others = {{.pid = 7}};
  return device;
}

Device Drivers(std::string uuid) {
  Device device;
  device.uuid = std::move(uuid);
  device.kind = DeviceKind::kCuda;
  device.name = "NVIDIA A100-SXM4";
  device.integrated = false;
  device.compute_capability = "8.0";
  device.memory.total_bytes = 950;
  device.memory.free_bytes = 500;
  return device;
}

TEST(CompareVerdictsTest, SameDevices_AreCompletedWithoutWarning) {
  const std::vector<Device> ours = {Ours("GPU-A", 0), Ours("GPU-B", 1)};
  const std::vector<Device> drivers = {Drivers("GPU-a"), Drivers("GPU-b")};
  const Verdict verdict = CompareVerdicts(ours, drivers, 700);
  EXPECT_THAT(verdict.warnings, IsEmpty());
  ASSERT_THAT(verdict.devices, SizeIs(2));
  const Device& device = verdict.devices[1];
  EXPECT_EQ(device.uuid, "GPU-B");
  EXPECT_EQ(device.address, "cuda:1");
  EXPECT_EQ(device.physical_ordinal, 5);
  EXPECT_EQ(device.name, "NVIDIA A100-SXM4");
  EXPECT_EQ(device.integrated, false);
  EXPECT_EQ(device.compute_capability, "8.0");
  EXPECT_EQ(device.memory.total_bytes, 950);
  EXPECT_EQ(device.memory.free_bytes, 900) << "the driver's number is less a child's context";
  EXPECT_THAT(device.memory.others, SizeIs(1));
}

TEST(CompareVerdictsTest, DriverEnumeratesFewer_IsBelievedAndReported) {
  const std::vector<Device> ours = {Ours("GPU-A", 0), Ours("GPU-B", 1)};
  const std::vector<Device> drivers = {Drivers("GPU-a")};
  const Verdict verdict = CompareVerdicts(ours, drivers, std::nullopt);
  ASSERT_THAT(verdict.devices, SizeIs(1));
  EXPECT_THAT(verdict.warnings,
              ElementsAre(HasSubstr("2 devices should be visible, the CUDA driver enumerates 1"),
                          HasSubstr("does not enumerate GPU-B (NVIDIA A100), CUDA_VISIBLE")));
}

TEST(CompareVerdictsTest, OtherOrder_IsTheDriversAndReported) {
  const std::vector<Device> ours = {Ours("GPU-A", 0), Ours("GPU-B", 1)};
  const std::vector<Device> drivers = {Drivers("GPU-b"), Drivers("GPU-a")};
  const Verdict verdict = CompareVerdicts(ours, drivers, std::nullopt);
  EXPECT_EQ(verdict.devices[0].uuid, "GPU-B");
  EXPECT_EQ(verdict.devices[0].visible_index, 0);
  EXPECT_EQ(verdict.devices[0].address, "cuda:0");
  EXPECT_THAT(verdict.warnings, ElementsAre(HasSubstr("numbers GPU-B"), HasSubstr("cuda:0")));
}

TEST(CompareVerdictsTest, UnknownDevice_IsAddedAndReported) {
  const std::vector<Device> drivers = {Drivers("GPU-c")};
  const Verdict verdict = CompareVerdicts({}, drivers, std::nullopt);
  ASSERT_THAT(verdict.devices, SizeIs(1));
  EXPECT_EQ(verdict.devices[0].origin, "enumerated by the CUDA driver");
  EXPECT_EQ(verdict.devices[0].memory.free_bytes, 500);
  EXPECT_THAT(verdict.warnings, ElementsAre(HasSubstr("0 devices should"), HasSubstr("GPU-c")));
}

TEST(CompareVerdictsTest, IntegratedGpu_HasTheHostsAvailableMemoryFree) {
  const std::vector<Device> ours = {Ours("GPU-A", 0)};
  std::vector<Device> drivers = {Drivers("GPU-a")};
  drivers[0].integrated = true;
  EXPECT_EQ(CompareVerdicts(ours, drivers, 700).devices[0].memory.free_bytes, 700);
  EXPECT_EQ(CompareVerdicts(ours, drivers, 2000).devices[0].memory.free_bytes, 950);
  EXPECT_EQ(CompareVerdicts(ours, drivers, std::nullopt).devices[0].memory.free_bytes, 900);
}

TEST(CompareVerdictsTest, MigInstance_IsRecognisedByTheDriversBareUuid) {
  for (const char* uuid : {"MIG-0a", "MIG-GPU-0a/1/0"}) {
    std::vector<Device> ours = {Ours(uuid, 0)};
    ours[0].kind = DeviceKind::kMig;
    const std::vector<Device> drivers = {Drivers("GPU-0A")};
    const Verdict verdict = CompareVerdicts(ours, drivers, std::nullopt);
    EXPECT_THAT(verdict.warnings, IsEmpty());
    EXPECT_EQ(verdict.devices[0].uuid, uuid);
    EXPECT_EQ(verdict.devices[0].kind, DeviceKind::kMig);
  }
}

}  // namespace
}  // namespace autobatch
