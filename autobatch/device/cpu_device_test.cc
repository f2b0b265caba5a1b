#include "autobatch/device/cpu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/units.h"
#include "autobatch/device/fake_host.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

FakeHost HostWith(int64_t available) {
  FakeHost host;
  host.Write("/proc/meminfo", absl::StrCat("MemTotal: ", 64 * kMiB,
                                           " kB\nMemAvailable: ", available / kKiB, " kB\n"));
  host.Write("/proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 7763\n");
  host.Write("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  host.Write("/proc/self/cgroup", "0::/job\n");
  host.Write("/sys/fs/cgroup/job/memory.current", "0\n");
  return host;
}

Device Cpu(const FakeHost& host, std::optional<int64_t> limit = std::nullopt) {
  absl::StatusOr<Device> device = CpuDevice(host.root(), "node1", limit);
  EXPECT_TRUE(device.ok()) << device.status();
  return device.ok() ? *std::move(device) : Device();
}

TEST(CpuDeviceTest, MuchMemory_BudgetIsTheDefault) {
  const Device device = Cpu(HostWith(32 * kGiB));
  EXPECT_EQ(device.kind, DeviceKind::kCpu);
  EXPECT_EQ(device.address, "cpu");
  EXPECT_EQ(device.name, "AMD EPYC 7763");
  EXPECT_EQ(device.memory.total_bytes, 64 * kGiB);
  EXPECT_EQ(device.memory.free_bytes, 2 * kGiB);
  EXPECT_THAT(device.origin, HasSubstr("default"));
}

TEST(CpuDeviceTest, LittleMemoryAvailable_LowersTheBudget) {
  const Device device = Cpu(HostWith(kGiB + 512 * kMiB));
  EXPECT_EQ(device.memory.free_bytes, 512 * kMiB);
  EXPECT_THAT(device.origin, HasSubstr("MemAvailable"));
}

TEST(CpuDeviceTest, CgroupLimit_LowersTheBudget) {
  const FakeHost host = HostWith(32 * kGiB);
  host.Write("/sys/fs/cgroup/job/memory.max", absl::StrCat(kGiB, "\n"));
  const Device device = Cpu(host);
  EXPECT_EQ(device.memory.free_bytes, kGiB);
  EXPECT_THAT(device.origin, HasSubstr("cgroup"));
}

TEST(CpuDeviceTest, MemoryLimit_RaisesTheBudgetUpToWhatThereIs) {
  const FakeHost host = HostWith(32 * kGiB);
  EXPECT_EQ(Cpu(host, 8 * kGiB).memory.free_bytes, 8 * kGiB);
  EXPECT_THAT(Cpu(host, 8 * kGiB).origin, HasSubstr("asked for"));
  EXPECT_EQ(Cpu(host, 100 * kGiB).memory.free_bytes, 31 * kGiB);
  EXPECT_EQ(Cpu(host, kMiB).memory.free_bytes, kMiB);
}

TEST(CpuDeviceTest, NothingLeft_IsNotFoundWithTheReason) {
  const absl::Status status =
      CpuDevice(HostWith(512 * kMiB).root(), "node1", std::nullopt).status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("MemAvailable 512.0 MiB"));
}

TEST(CpuDeviceTest, NothingToRead_BudgetIsTheDefaultAndTheTotalUnknown) {
  const Device device = Cpu(FakeHost());
  EXPECT_EQ(device.memory.free_bytes, 2 * kGiB);
  EXPECT_FALSE(device.memory.total_bytes.has_value());
  EXPECT_EQ(device.name, "CPU");
}

TEST(CpuUuidTest, NameAndIndex_MakeAStableIdentity) {
  EXPECT_THAT(CpuUuid("node1", 0), MatchesRegex("CPU-[0-9a-f-]+"));
  EXPECT_EQ(CpuUuid("node1", 0), CpuUuid("node1", 0));
  EXPECT_NE(CpuUuid("node1", 0), CpuUuid("node2", 0));
  EXPECT_NE(CpuUuid("node1", 0), CpuUuid("node1", 1));
}

}  // namespace
}  // namespace autobatch
