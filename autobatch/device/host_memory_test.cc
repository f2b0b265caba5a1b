#include "autobatch/device/host_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/units.h"
#include "autobatch/device/fake_host.h"

namespace autobatch {
namespace {

constexpr char kV2Mount[] =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr char kV1Mount[] =
    "35 32 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "36 32 0:32 / /sys/fs/cgroup/memory rw,nosuid shared:10 - cgroup cgroup rw,memory\n";

class ReadHostMemoryTest : public testing::Test {
 protected:
  HostMemory Read() const { return ReadHostMemory(host_.root()); }
  std::optional<int64_t> Room() const { return Read().cgroup_room_bytes; }

  // What this process's mountinfo and cgroup file say.
  void InCgroup(absl::string_view mounts, absl::string_view cgroup) {
    host_.Write("/proc/self/mountinfo", mounts);
    host_.Write("/proc/self/cgroup", cgroup);
  }

  // The limit and the usage of the cgroup at `path` below the version's mount, in its files.
  void LimitV2(absl::string_view path, absl::string_view max, absl::string_view current) {
    host_.Write(absl::StrCat("/sys/fs/cgroup", path, "/memory.max"), max);
    host_.Write(absl::StrCat("/sys/fs/cgroup", path, "/memory.current"), current);
  }
  void LimitV1(absl::string_view path, absl::string_view limit, absl::string_view usage) {
    host_.Write(absl::StrCat("/sys/fs/cgroup/memory", path, "/memory.limit_in_bytes"), limit);
    host_.Write(absl::StrCat("/sys/fs/cgroup/memory", path, "/memory.usage_in_bytes"), usage);
  }

  FakeHost host_;
};

TEST_F(ReadHostMemoryTest, Meminfo_TellsTotalAndAvailable) {
  host_.Write("/proc/meminfo", "MemTotal:       16 kB\nMemFree: 1 kB\nMemAvailable:   12 kB\n");
  const HostMemory memory = Read();
  EXPECT_EQ(memory.total_bytes, 16 * kKiB);
  EXPECT_EQ(memory.available_bytes, 12 * kKiB);
  EXPECT_FALSE(memory.cgroup_room_bytes.has_value());
}

TEST_F(ReadHostMemoryTest, NothingToRead_StaysAbsent) {
  EXPECT_FALSE(Read().total_bytes.has_value());
  host_.Write("/proc/meminfo", "MemTotal: lots\nMemAvailable: -\n");
  EXPECT_FALSE(Read().total_bytes.has_value());
  EXPECT_FALSE(Read().available_bytes.has_value());
}

TEST_F(ReadHostMemoryTest, CgroupV2_LeastRoomUpToTheRootCounts) {
  InCgroup(kV2Mount, "0::/user.slice/job\n");
  LimitV2("/user.slice/job", "5000\n", "1000\n");
  EXPECT_EQ(Room(), 4000);
  LimitV2("/user.slice", "9000\n", "6500\n");
  EXPECT_EQ(Room(), 2500);
  host_.Write("/sys/fs/cgroup/user.slice/memory.max", "max\n");
  EXPECT_EQ(Room(), 4000);
}

TEST_F(ReadHostMemoryTest, CgroupV2_InactivePageCacheIsRoomAndHighIsALimit) {
  InCgroup(kV2Mount, "0::/job\n");
  LimitV2("/job", "5000\n", "4900\n");
  host_.Write("/sys/fs/cgroup/job/memory.stat", "anon 1900\nfile 3000\ninactive_file 3000\n");
  EXPECT_EQ(Room(), 3100);
  host_.Write("/sys/fs/cgroup/job/memory.high", "2000\n");
  EXPECT_EQ(Room(), 100);
}

TEST_F(ReadHostMemoryTest, CgroupFull_RoomIsZeroNotNegative) {
  InCgroup(kV2Mount, "0::/job\n");
  LimitV2("/job", "1000\n", "1200\n");
  EXPECT_EQ(Room(), 0);
}

TEST_F(ReadHostMemoryTest, CgroupV1_LimitLessUsage) {
  InCgroup(kV1Mount, "11:cpu,cpuacct:/x\n4:memory:/jobs/1\n0::/\n");
  LimitV1("/jobs/1", "9223372036854771712\n", "100\n");
  EXPECT_EQ(Room(), std::nullopt);
  LimitV1("/jobs", "3000\n", "800\n");
  host_.Write("/sys/fs/cgroup/memory/jobs/memory.stat", "total_inactive_file 300\n");
  EXPECT_EQ(Room(), 2500);
}

TEST_F(ReadHostMemoryTest, Hybrid_TheControllerIsFoundInVersion1) {
  InCgroup(std::string(kV1Mount) +
               "37 32 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n",
           "4:memory:/job\n0::/job\n");
  LimitV1("/job", "3000\n", "1000\n");
  EXPECT_EQ(Room(), 2000);
}

TEST_F(ReadHostMemoryTest, ContainerThatSeesTheHostsPath_ReadsItsOwnMount) {
  InCgroup("36 32 0:32 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
           "4:memory:/docker/ab/inner\n");
  LimitV1("", "3000\n", "1000\n");
  EXPECT_EQ(Room(), 2000);
  LimitV1("/inner", "500\n", "100\n");
  EXPECT_EQ(Room(), 400);
  host_.Write("/proc/self/cgroup", "4:memory:/docker/abc\n");
  EXPECT_EQ(Room(), 2000);
}

TEST_F(ReadHostMemoryTest, PathOutsideTheNamespace_ReadsTheMountPoint) {
  InCgroup(kV2Mount, "0::/../../other\n");
  LimitV2("", "3000\n", "1000\n");
  host_.Write("/sys/other/memory.max", "10\n");
  host_.Write("/sys/other/memory.current", "0\n");
  EXPECT_EQ(Room(), 2000);
}

TEST_F(ReadHostMemoryTest, ThisMachine_TellsItsMemory) {
  const HostMemory memory = ReadHostMemory("");
  ASSERT_TRUE(memory.total_bytes.has_value());
  EXPECT_GT(*memory.total_bytes, kMiB);
  EXPECT_LE(memory.available_bytes.value_or(0), *memory.total_bytes);
}

}  // namespace
}  // namespace autobatch
