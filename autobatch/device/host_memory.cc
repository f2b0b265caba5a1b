#include "autobatch/device/host_memory.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "autobatch/base/units.h"
#include "autobatch/device/host_files.h"

namespace autobatch {
namespace {

// Version 1 writes "no limit" as the last page below 2^63.
constexpr int64_t kNoLimit = int64_t{1} << 60;

// What the two versions call the same things.
struct CgroupFiles {
  std::vector<absl::string_view> limits;
  absl::string_view usage;
  absl::string_view inactive_file;
};

CgroupFiles FilesOf(bool v2) {
  if (v2) return {{"/memory.max", "/memory.high"}, "/memory.current", "inactive_file"};
  return {{"/memory.limit_in_bytes"}, "/memory.usage_in_bytes", "total_inactive_file"};
}

std::optional<int64_t> ParseNumber(std::optional<absl::string_view> text) {
  int64_t number = 0;
  if (!text.has_value() || !absl::SimpleAtoi(*text, &number)) return std::nullopt;
  return number;
}

// Absent where there is no such file, or it says "max".
std::optional<int64_t> ReadNumber(absl::string_view root, absl::string_view path) {
  return ParseNumber(ReadHostFile(root, path));
}

std::optional<int64_t> Least(std::optional<int64_t> a, std::optional<int64_t> b) {
  if (!a.has_value()) return b;
  return b.has_value() ? std::min(*a, *b) : a;
}

std::optional<int64_t> ReadKib(absl::string_view text, absl::string_view key) {
  std::optional<absl::string_view> value = FindValue(text, key);
  if (!value.has_value() || !absl::ConsumeSuffix(&*value, " kB")) return std::nullopt;
  const std::optional<int64_t> kib = ParseNumber(value);
  return kib.has_value() ? std::optional<int64_t>(*kib * kKiB) : std::nullopt;
}

// Room in one cgroup, without those above it.
std::optional<int64_t> RoomIn(absl::string_view root, absl::string_view folder,
                              const CgroupFiles& files) {
  std::optional<int64_t> limit;
  for (absl::string_view name : files.limits) {
    limit = Least(limit, ReadNumber(root, absl::StrCat(folder, name)));
  }
  const std::optional<int64_t> usage = ReadNumber(root, absl::StrCat(folder, files.usage));
  if (!limit.has_value() || *limit >= kNoLimit || !usage.has_value()) return std::nullopt;
  const std::string stat =
      ReadHostFile(root, absl::StrCat(folder, "/memory.stat")).value_or(std::string());
  const int64_t reclaimable = ParseNumber(FindValue(stat, files.inactive_file)).value_or(0);
  return std::max<int64_t>(0, *limit - std::max<int64_t>(0, *usage - reclaimable));
}

// A mounted cgroup hierarchy that may hold the memory controller.
struct Hierarchy {
  bool v2 = false;
  // The cgroup that is mounted, and where.
  std::string mounted;
  std::string mount_point;
};

// A line of mountinfo: "36 35 0:30 /docker/ab /sys/fs/cgroup/memory rw … - cgroup cgroup
// rw,memory".
std::vector<Hierarchy> ReadHierarchies(absl::string_view root) {
  std::vector<Hierarchy> hierarchies;
  const std::string text = ReadHostFile(root, "/proc/self/mountinfo").value_or(std::string());
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (halves.size() != 2) continue;
    const std::vector<absl::string_view> mount = absl::StrSplit(halves[0], ' ');
    const std::vector<absl::string_view> system = absl::StrSplit(halves[1], ' ');
    if (mount.size() < 5 || system.size() < 3) continue;
    const std::vector<absl::string_view> options = absl::StrSplit(system[2], ',');
    const bool v1_memory = system[0] == "cgroup" &&
                           std::find(options.begin(), options.end(), "memory") != options.end();
    if (v1_memory || system[0] == "cgroup2") {
      hierarchies.push_back({.v2 = !v1_memory,
                             .mounted = std::string(mount[3]),
                             .mount_point = std::string(mount[4])});
    }
  }
  return hierarchies;
}

// This process's cgroup: "0::/user.slice" for v2, "4:cpu,memory:/docker/ab" for v1.
std::optional<std::string> OwnCgroup(absl::string_view root, bool v2) {
  const std::string text = ReadHostFile(root, "/proc/self/cgroup").value_or(std::string());
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const std::vector<absl::string_view> controllers = absl::StrSplit(fields[1], ',');
    const bool memory =
        std::find(controllers.begin(), controllers.end(), "memory") != controllers.end();
    if (v2 ? fields[0] == "0" && fields[1].empty() : memory) return std::string(fields[2]);
  }
  return std::nullopt;
}

// The folder of the process's own cgroup below the mount point. A container may be told its path on
// the host, of which only the end, or nothing, is mounted.
std::string OwnFolder(const Hierarchy& hierarchy, absl::string_view cgroup) {
  absl::string_view below = cgroup;
  if (hierarchy.mounted != "/" &&
      (!absl::ConsumePrefix(&below, hierarchy.mounted) || (!below.empty() && below[0] != '/'))) {
    below = "";
  }
  if (absl::StrContains(below, "/..")) below = "";
  return absl::StrCat(hierarchy.mount_point, absl::StripSuffix(below, "/"));
}

std::optional<int64_t> CgroupRoom(absl::string_view root) {
  std::optional<int64_t> room;
  for (const Hierarchy& hierarchy : ReadHierarchies(root)) {
    const std::optional<std::string> cgroup = OwnCgroup(root, hierarchy.v2);
    if (!cgroup.has_value()) continue;
    const CgroupFiles files = FilesOf(hierarchy.v2);
    std::string folder = OwnFolder(hierarchy, *cgroup);
    while (true) {
      room = Least(room, RoomIn(root, folder, files));
      if (folder.size() <= hierarchy.mount_point.size()) break;
      folder.resize(folder.rfind('/'));
    }
  }
  return room;
}

}  // namespace

HostMemory ReadHostMemory(absl::string_view root) {
  const std::string text = ReadHostFile(root, "/proc/meminfo").value_or(std::string());
  return {.total_bytes = ReadKib(text, "MemTotal"),
          .available_bytes = ReadKib(text, "MemAvailable"),
          .cgroup_room_bytes = CgroupRoom(root)};
}

}  // namespace autobatch
