#include "autobatch/device/nvml_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "autobatch/device/fake_host.h"
#include "autobatch/device/fake_nvml.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kOwn[] = {77};

FakeNvmlDevice A100(std::string uuid) {
  return {.uuid = std::move(uuid),
          .bus_id = "00000000:3B:00.0",
          .memory = NvmlMemory{.total = 1000, .free = 600, .used = 300},
          .reserved = 100,
          .compute_capability_major = 8,
          .cores = 6912,
          .mhz = 1410,
          .mig_enabled = false};
}

NvmlNode Read(FakeNvml& nvml, const FakeHost& host) {
  absl::StatusOr<NvmlNode> node = ReadNvml(nvml, kOwn, host.root());
  EXPECT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(nvml.open, 0) << "nvmlInit without nvmlShutdown";
  return node.ok() ? *std::move(node) : NvmlNode();
}

TEST(ReadNvmlTest, WholeGpu_TellsIdentityMemoryAndVersions) {
  FakeNvml nvml;
  nvml.gpus = {A100("GPU-a")};
  const NvmlNode node = Read(nvml, FakeHost());
  ASSERT_THAT(node.gpus, SizeIs(1));
  const Device& device = node.gpus[0].device;
  EXPECT_EQ(device.uuid, "GPU-a");
  EXPECT_EQ(device.kind, DeviceKind::kCuda);
  EXPECT_EQ(device.name, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(device.pci_bus_id, "0000:3B:00.0");
  EXPECT_EQ(device.compute_capability, "8.0");
  EXPECT_EQ(device.memory.total_bytes, 900) << "what the firmware keeps is not usable";
  EXPECT_EQ(device.memory.free_bytes, 600);
  EXPECT_EQ(node.gpus[0].speed, 6912 * 1410);
  EXPECT_EQ(node.driver_version, "580.65.06");
  EXPECT_EQ(node.cuda_driver_version, 13000);
  EXPECT_THAT(node.warnings, IsEmpty());
}

TEST(ReadNvmlTest, OldLibrary_FallsBackToTheFirstMemoryCall) {
  FakeNvml nvml;
  nvml.gpus = {A100("GPU-a")};
  nvml.gpus[0].reserved.reset();
  EXPECT_EQ(Read(nvml, FakeHost()).gpus[0].device.memory.total_bytes, 1000);
}

TEST(ReadNvmlTest, NotSupported_StaysAbsent) {
  FakeNvml nvml;
  nvml.driver_version.reset();
  nvml.cuda_driver_version.reset();
  nvml.gpus = {{.uuid = "GPU-gb10", .name = "NVIDIA GB10"}};
  const NvmlNode node = Read(nvml, FakeHost());
  ASSERT_THAT(node.gpus, SizeIs(1));
  const Device& device = node.gpus[0].device;
  EXPECT_FALSE(device.memory.total_bytes.has_value());
  EXPECT_FALSE(device.memory.free_bytes.has_value());
  EXPECT_FALSE(device.pci_bus_id.has_value());
  EXPECT_FALSE(device.compute_capability.has_value());
  EXPECT_FALSE(node.gpus[0].mig_enabled);
  EXPECT_FALSE(node.gpus[0].speed.has_value());
  EXPECT_FALSE(node.driver_version.has_value());
}

TEST(ReadNvmlTest, OtherProcesses_AreNamedAndOwnOnesLeftOut) {
  FakeHost host;
  host.Write("/proc/41/comm", "python3\n");
  FakeNvml nvml;
  nvml.gpus = {A100("GPU-a")};
  nvml.gpus[0].compute = {{.pid = 41, .used_gpu_memory = 300},
                          {.pid = 77, .used_gpu_memory = 100},
                          {.pid = 42, .used_gpu_memory = kNvmlValueNotAvailable}};
  // Computes and draws: in both lists with the same bytes.
  nvml.gpus[0].graphics = {{.pid = 41, .used_gpu_memory = 300}, {.pid = 43, .used_gpu_memory = 5}};
  const std::vector<ProcessUse> others = Read(nvml, host).gpus[0].device.memory.others;
  ASSERT_THAT(others, SizeIs(3));
  EXPECT_THAT(others[0], AllOf(Field(&ProcessUse::pid, 41), Field(&ProcessUse::name, "python3")));
  EXPECT_EQ(others[0].bytes, 300);
  EXPECT_EQ(others[1].pid, 42);
  EXPECT_FALSE(others[1].bytes.has_value());
  EXPECT_EQ(others[1].name, "") << "a process of which /proc tells nothing";
  EXPECT_EQ(others[2].pid, 43);
}

TEST(ReadNvmlTest, ManyProcesses_AreAllRead) {
  FakeNvml nvml;
  nvml.gpus = {A100("GPU-a")};
  for (unsigned int pid = 1000; pid < 1500; ++pid) nvml.gpus[0].compute->push_back({.pid = pid});
  EXPECT_THAT(Read(nvml, FakeHost()).gpus[0].device.memory.others, SizeIs(500));
}

TEST(ReadNvmlTest, ProcessesNotTold_IsSaidOnceAndOthersAreUnknown) {
  FakeNvml nvml;
  nvml.gpus = {A100("GPU-a"), A100("GPU-b")};
  for (FakeNvmlDevice& gpu : nvml.gpus) gpu.compute.reset();
  const NvmlNode node = Read(nvml, FakeHost());
  EXPECT_THAT(node.gpus[0].device.memory.others, IsEmpty());
  EXPECT_THAT(node.warnings, ElementsAre(HasSubstr("unknown, not none")));
}

TEST(ReadNvmlTest, MigInstances_TellTheirOwnMemoryAndProcesses) {
  FakeNvml nvml;
  nvml.gpus = {A100("GPU-a")};
  nvml.gpus[0].mig_enabled = true;
  nvml.gpus[0].instances = {{.uuid = ""},
                            {.uuid = "MIG-1",
                             .name = std::nullopt,
                             .memory = NvmlMemory{.total = 120, .free = 90, .used = 30},
                             .compute = std::vector<NvmlProcess>{{.pid = 9, .used_gpu_memory = 30}},
                             .gpu_instance = 7,
                             .compute_instance = 1}};
  const NvmlNode node = Read(nvml, FakeHost());
  EXPECT_TRUE(node.gpus[0].mig_enabled);
  ASSERT_THAT(node.gpus[0].instances, SizeIs(1));
  const NvmlInstance& instance = node.gpus[0].instances[0];
  EXPECT_EQ(instance.gpu_instance, 7);
  EXPECT_EQ(instance.compute_instance, 1);
  EXPECT_EQ(instance.device.kind, DeviceKind::kMig);
  EXPECT_EQ(instance.device.uuid, "MIG-1");
  EXPECT_EQ(instance.device.name, "NVIDIA A100-SXM4-80GB MIG");
  EXPECT_EQ(instance.device.memory.total_bytes, 120);
  EXPECT_EQ(instance.device.memory.free_bytes, 90);
  EXPECT_EQ(instance.device.pci_bus_id, "0000:3B:00.0");
  EXPECT_THAT(instance.device.memory.others, SizeIs(1));
}

TEST(ReadNvmlTest, LostGpu_IsNamedAndForbiddenOneLeftOut) {
  FakeNvml nvml;
  nvml.gpus = {A100("GPU-a"), A100("GPU-b"), A100("GPU-c")};
  nvml.gpus[0].handle = kNvmlGpuIsLost;
  nvml.gpus[2].handle = kNvmlNoPermission;
  const NvmlNode node = Read(nvml, FakeHost());
  ASSERT_THAT(node.gpus, SizeIs(1));
  EXPECT_EQ(node.gpus[0].device.uuid, "GPU-b");
  EXPECT_THAT(node.warnings, ElementsAre(HasSubstr("GPU 0 of 3 does not answer")));
}

TEST(ReadNvmlTest, InitFails_EachReasonIsNamed) {
  const struct {
    NvmlReturn init;
    absl::StatusCode code;
    const char* text;
  } cases[] = {
      {kNvmlLibRmVersionMismatch, absl::StatusCode::kFailedPrecondition, "reboot"},
      {kNvmlDriverNotLoaded, absl::StatusCode::kUnavailable, "not loaded"},
      {kNvmlNoPermission, absl::StatusCode::kUnavailable, "/dev/nvidiactl"},
      {kNvmlFunctionNotFound, absl::StatusCode::kUnavailable, "too old"},
      {kNvmlUnknown, absl::StatusCode::kUnavailable, "999"},
  };
  for (const auto& c : cases) {
    FakeNvml nvml;
    nvml.init = c.init;
    const absl::Status status = ReadNvml(nvml, {}, "").status();
    EXPECT_EQ(status.code(), c.code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.text));
    EXPECT_EQ(nvml.open, 0);
  }
}

TEST(ReadNvmlTest, CountFails_IsUnavailableAndShutDown) {
  FakeNvml nvml;
  nvml.count = kNvmlUnknown;
  EXPECT_TRUE(absl::IsUnavailable(ReadNvml(nvml, {}, "").status()));
  EXPECT_EQ(nvml.open, 0);
}

}  // namespace
}  // namespace autobatch
