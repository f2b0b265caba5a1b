#include "autobatch/device/cuda_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/device/fake_driver.h"
#include "autobatch/device/fake_host.h"
#include "autobatch/device/fake_nvml.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CudaDevicesTest : public testing::Test {
 protected:
  CudaDevicesTest() {
    sources_.driver = std::make_unique<FakeDriver>();
    sources_.nvml = std::make_unique<FakeNvml>();
  }

  FakeDriver& driver() { return static_cast<FakeDriver&>(*sources_.driver); }
  FakeNvml& nvml() { return static_cast<FakeNvml&>(*sources_.nvml); }

  CudaDevices Find() {
    absl::StatusOr<CudaDevices> devices = FindCudaDevices(sources_, {});
    EXPECT_TRUE(devices.ok()) << devices.status();
    return devices.ok() ? *std::move(devices) : CudaDevices();
  }

  FakeHost host_;
  DeviceSources sources_ = host_.Sources();
};

FakeNvmlDevice Gpu(std::string uuid, const std::string& bus, std::string name = "NVIDIA A100") {
  return {.uuid = std::move(uuid),
          .name = std::move(name),
          .bus_id = "00000000:" + bus + ":00.0",
          .memory = NvmlMemory{.total = 1000, .free = 900}};
}

std::vector<std::string> Uuids(const CudaDevices& devices) {
  std::vector<std::string> uuids;
  uuids.reserve(devices.visible.size());
  for (const Device& device : devices.visible) uuids.push_back(device.uuid);
  return uuids;
}

TEST_F(CudaDevicesTest, MixedNode_NumbersFollowCudaDeviceOrder) {
  nvml().gpus = {Gpu("GPU-t4", "1A", "NVIDIA T4"), Gpu("GPU-a100", "3B")};
  for (FakeNvmlDevice& gpu : nvml().gpus) {
    gpu.mhz = 1400;
    gpu.cores = gpu.uuid == "GPU-t4" ? 2560 : 6912;
  }
  CudaDevices devices = Find();
  EXPECT_THAT(Uuids(devices), ElementsAre("GPU-a100", "GPU-t4"));
  EXPECT_THAT(devices.warnings, ElementsAre(HasSubstr("guess")));

  host_.environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  devices = Find();
  EXPECT_THAT(Uuids(devices), ElementsAre("GPU-t4", "GPU-a100"));
  EXPECT_THAT(devices.warnings, IsEmpty());

  host_.environment.erase("CUDA_DEVICE_ORDER");
  host_.environment["CUDA_VISIBLE_DEVICES"] = "GPU-t";
  EXPECT_THAT(Find().warnings, IsEmpty()) << "a UUID needs no number";
}

TEST_F(CudaDevicesTest, MigInstance_IsTheDeviceWithItsOwnMemory) {
  nvml().gpus = {Gpu("GPU-a", "1A"), Gpu("GPU-b", "3B")};
  nvml().gpus[1].mig_enabled = true;
  nvml().gpus[1].instances = {
      {.uuid = "MIG-1", .memory = NvmlMemory{.total = 100, .free = 80}, .gpu_instance = 1},
      {.uuid = "MIG-2", .memory = NvmlMemory{.total = 200, .free = 70}, .gpu_instance = 2}};
  host_.environment["CUDA_VISIBLE_DEVICES"] = "MIG-GPU-b/2/0";
  const CudaDevices devices = Find();
  ASSERT_THAT(Uuids(devices), ElementsAre("MIG-2"));
  EXPECT_EQ(devices.visible[0].kind, DeviceKind::kMig);
  EXPECT_EQ(devices.visible[0].physical_ordinal, 1);
  EXPECT_EQ(devices.visible[0].memory.total_bytes, 200);
  EXPECT_EQ(devices.visible[0].memory.free_bytes, 70);
}

TEST_F(CudaDevicesTest, IntegratedGpuWithoutNvmlMemory_IsCompletedByTheDriver) {
  host_.Write("/proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 60 kB\n");
  nvml().gpus = {{.uuid = "GPU-0a000000-0000-0000-0000-000000000000", .name = "NVIDIA GB10"}};
  driver().devices = {
      {.uuid = {0x0a}, .name = "NVIDIA GB10", .integrated = true, .total = 90 * 1024}};
  const CudaDevices devices = Find();
  ASSERT_THAT(devices.visible, SizeIs(1));
  EXPECT_EQ(devices.visible[0].integrated, true);
  EXPECT_EQ(devices.visible[0].memory.total_bytes, 90 * 1024);
  EXPECT_EQ(devices.visible[0].memory.free_bytes, 60 * 1024) << "page cache can be had";
  EXPECT_THAT(devices.warnings, IsEmpty());
}

TEST_F(CudaDevicesTest, MemoryThatNobodyTells_StaysAbsent) {
  nvml().gpus = {{.uuid = "GPU-a"}};
  driver().init = kDriverUnknown;
  const CudaDevices devices = Find();
  ASSERT_THAT(devices.visible, SizeIs(1));
  EXPECT_FALSE(devices.visible[0].memory.total_bytes.has_value());
  EXPECT_THAT(devices.warnings, ElementsAre(HasSubstr("CUDA_ERROR_999")));
}

TEST_F(CudaDevicesTest, WithoutNvml_TheDriversListIsUsedAndUnknownStaysAbsent) {
  sources_.nvml.reset();
  sources_.no_nvml = "no NVML";
  driver().devices = {{.uuid = {0x0a}, .total = 1000}, {.uuid = {0x0b}, .total = 1000}};
  host_.environment["CUDA_VISIBLE_DEVICES"] = "1,3,7";
  const CudaDevices devices = Find();
  ASSERT_THAT(devices.visible, SizeIs(2));
  EXPECT_EQ(devices.visible[1].address, "cuda:1");
  EXPECT_EQ(devices.visible[1].origin, "CUDA_VISIBLE_DEVICES=1,3,7 entry 2 of 3");
  EXPECT_FALSE(devices.visible[1].physical_ordinal.has_value());
  EXPECT_FALSE(devices.visible[1].memory.free_bytes.has_value());
  EXPECT_THAT(devices.warnings, ElementsAre(HasSubstr("3 entries, the driver enumerates 2"),
                                            AllOf(HasSubstr("no NVML"), HasSubstr("not known"))));
}

TEST_F(CudaDevicesTest, WithoutNvmlAndDevices_SaysWhy) {
  nvml().init = kNvmlDriverNotLoaded;
  driver().init = kDriverNoDevice;
  host_.environment["CUDA_VISIBLE_DEVICES"] = "9";
  const CudaDevices devices = Find();
  EXPECT_THAT(devices.visible, IsEmpty());
  EXPECT_THAT(devices.why_none, AllOf(HasSubstr("sees no device"), HasSubstr("='9'")));
}

TEST_F(CudaDevicesTest, DriverThatCannotStart_IsAnErrorWhereItIsAsked) {
  sources_.nvml.reset();
  driver().init = kDriverSystemDriverMismatch;
  EXPECT_TRUE(absl::IsFailedPrecondition(FindCudaDevices(sources_, {}).status()));
}

TEST_F(CudaDevicesTest, NoGpus_SaysSo) { EXPECT_THAT(Find().why_none, HasSubstr("no NVIDIA GPU")); }

TEST_F(CudaDevicesTest, GpuWithoutLibcuda_IsAnErrorThatNamesTheContainer) {
  sources_.driver.reset();
  sources_.no_driver = "no NVIDIA driver";
  EXPECT_EQ(Find().why_none, "no NVIDIA driver");
  nvml().gpus = {Gpu("GPU-a", "1A")};
  const absl::Status status = FindCudaDevices(sources_, {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("NVIDIA_DRIVER_CAPABILITIES"));
}

TEST_F(CudaDevicesTest, OtherProcesses_AreThoseNotOurs) {
  nvml().gpus = {Gpu("GPU-a", "1A")};
  nvml().gpus[0].compute = {{.pid = 5, .used_gpu_memory = 10}, {.pid = 6, .used_gpu_memory = 20}};
  const int64_t own[] = {5};
  const absl::StatusOr<CudaDevices> devices = FindCudaDevices(sources_, own);
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_THAT(devices->visible[0].memory.others, SizeIs(1));
  EXPECT_EQ(devices->visible[0].memory.others[0].pid, 6);
}

TEST_F(CudaDevicesTest, LostGpu_IsAWarning) {
  nvml().gpus = {Gpu("GPU-a", "1A"), Gpu("GPU-b", "3B")};
  nvml().gpus[1].handle = kNvmlGpuIsLost;
  const CudaDevices devices = Find();
  EXPECT_THAT(Uuids(devices), ElementsAre("GPU-a"));
  EXPECT_THAT(devices.warnings, Contains(HasSubstr("lost")));
  EXPECT_THAT(devices.warnings, Not(Contains(HasSubstr("guess"))));
}

}  // namespace
}  // namespace autobatch
