#include "autobatch/device/host_memory.h"

#include <gtest/gtest.h>

#include "autobatch/base/units.h"
#include "autobatch/device/fake_host.h"

namespace autobatch {
namespace {

constexpr char kV2Mount[] =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr char kV1Mount[] =
    "35 32 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "36 32 0:32 / /sys/fs/cgroup/memory rw,nosuid shared:10 - cgroup cgroup rw,memory\n";

TEST(ReadHostMemoryTest, Meminfo_TellsTotalAndAvailable) {
  FakeHost host;
  host.Write("/proc/meminfo", "MemTotal:       16 kB\nMemFree: 1 kB\nMemAvailable:   12 kB\n");
  const HostMemory memory = ReadHostMemory(host.root());
  EXPECT_EQ(memory.total_bytes, 16 * kKiB);
  EXPECT_EQ(memory.available_bytes, 12 * kKiB);
  EXPECT_FALSE(memory.cgroup_room_bytes.has_value());
}

TEST(ReadHostMemoryTest, NothingToRead_StaysAbsent) {
  FakeHost host;
  EXPECT_FALSE(ReadHostMemory(host.root()).total_bytes.has_value());
  host.Write("/proc/meminfo", "MemTotal: lots\nMemAvailable: -\n");
  EXPECT_FALSE(ReadHostMemory(host.root()).total_bytes.has_value());
  EXPECT_FALSE(ReadHostMemory(host.root()).available_bytes.has_value());
}

TEST(ReadHostMemoryTest, CgroupV2_LeastRoomUpToTheRootCounts) {
  FakeHost host;
  host.Write("/proc/self/mountinfo", kV2Mount);
  host.Write("/proc/self/cgroup", "0::/user.slice/job\n");
  host.Write("/sys/fs/cgroup/user.slice/job/memory.max", "5000\n");
  host.Write("/sys/fs/cgroup/user.slice/job/memory.current", "1000\n");
  EXPECT_EQ(ReadHostMemory(host.root()).cgroup_room_bytes, 4000);
  host.Write("/sys/fs/cgroup/user.slice/memory.max", "9000\n");
  host.Write("/sys/fs/cgroup/user.slice/memory.current", "6500\n");
  EXPECT_EQ(ReadHostMemory(host.root()).cgroup_room_bytes, 2500);
  host.Write("/sys/fs/cgroup/user.slice/memory.max", "max\n");
  EXPECT_EQ(ReadHostMemory(host.root()).cgroup_room_bytes, 4000);
}

TEST(ReadHostMemoryTest, CgroupV2_InactivePageCacheIsRoomAndHighIsALimit) {
  FakeHost host;
  host.Write("/proc/self/mountinfo", kV2Mount);
  host.Write("/proc/self/cgroup", "0::/job\n");
  host.Write("/sys/fs/cgroup/job/memory.max", "5000\n");
  host.Write("/sys/fs/cgroup/job/memory.current", "4900\n");
  host.Write("/sys/fs/cgroup/job/memory.stat", "anon 1900\nfile 3000\ninactive_file 3000\n");
  EXPECT_EQ(ReadHostMemory(host.root()).cgroup_room_bytes, 3100);
  host.Write("/sys/fs/cgroup/job/memory.high", "2000\n");
  EXPECT_EQ(ReadHostMemory(host.root()).cgroup_room_bytes, 100);
}

TEST(ReadHostMemoryTest, CgroupFull_RoomIsZeroNotNegative) {
  FakeHost host;
  host.Write("/proc/self/mountinfo", kV2Mount);
  host.Write("/proc/self/cgroup", "0::/job\n");
  host.Write("/sys/fs/cgroup/job/memory.max", "1000\n");
  host.Write("/sys/fs/cgroup/job/memory.current", "1200\n");
  EXPECT_EQ(ReadHostMemory(host.root()).cgroup_room_bytes, 0);
}

TEST(ReadHostMemoryTest, CgroupV1_LimitLessUsage) {
  FakeHost host;
  host.Write("/proc/self/mountinfo", kV1Mount);
  host.Write("/proc/self/cgroup", "11:cpu,cpuacct:/x\n4:memory:/jobs/1\n0::/\n");
  host.Write("/sys/fs/cgroup/memory/jobs/1/memory.limit_in_bytes", "9223372036854771712\n");
  host.Write("/sys/fs/cgroup/memory/jobs/1/memory.usage_in_bytes", "100\n");
  EXPECT_FALSE(ReadHostMemory(host.root()).cgroup_room_bytes.has_value());
  host.Write("/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "3000\n");
  host.Write("/sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", "800\n");
  host.Write("/sys/fs/cgroup/memory/jobs/memory.stat", "total_inactive_file 300\n");
  EXPECT_EQ(ReadHostMemory(host.root()).cgroup_room_bytes, 2500);
}

TEST(ReadHostMemoryTest, Hybrid_TheControllerIsFoundInVersion1) {
  FakeHost host;
  host.Write("/proc/self/mountinfo",
             std::string(kV1Mount) +
                 "37 32 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n");
  host.Write("/proc/self/cgroup", "4:memory:/job\n0::/job\n");
  host.Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3000\n");
  host.Write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1000\n");
  EXPECT_EQ(ReadHostMemory(host.root()).cgroup_room_bytes, 2000);
}

TEST(ReadHostMemoryTest, ContainerThatSeesTheHostsPath_ReadsItsOwnMount) {
  FakeHost host;
  host.Write("/proc/self/mountinfo",
             "36 32 0:32 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  host.Write("/proc/self/cgroup", "4:memory:/docker/ab/inner\n");
  host.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "3000\n");
  host.Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n");
  EXPECT_EQ(ReadHostMemory(host.root()).cgroup_room_bytes, 2000);
  host.Write("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "500\n");
  host.Write("/sys/fs/cgroup/memory/inner/memory.usage_in_bytes", "100\n");
  EXPECT_EQ(ReadHostMemory(host.root()).cgroup_room_bytes, 400);
  host.Write("/proc/self/cgroup", "4:memory:/docker/abc\n");
  EXPECT_EQ(ReadHostMemory(host.root()).cgroup_room_bytes, 2000);
}

TEST(ReadHostMemoryTest, PathOutsideTheNamespace_ReadsTheMountPoint) {
  FakeHost host;
  host.Write("/proc/self/mountinfo", kV2Mount);
  host.Write("/proc/self/cgroup", "0::/../../other\n");
  host.Write("/sys/fs/cgroup/memory.max", "3000\n");
  host.Write("/sys/fs/cgroup/memory.current", "1000\n");
  host.Write("/sys/other/memory.max", "10\n");
  host.Write("/sys/other/memory.current", "0\n");
  EXPECT_EQ(ReadHostMemory(host.root()).cgroup_room_bytes, 2000);
}

TEST(ReadHostMemoryTest, ThisMachine_TellsItsMemory) {
  const HostMemory memory = ReadHostMemory("");
  ASSERT_TRUE(memory.total_bytes.has_value());
  EXPECT_GT(*memory.total_bytes, kMiB);
  EXPECT_LE(memory.available_bytes.value_or(0), *memory.total_bytes);
}

}  // namespace
}  // namespace autobatch
