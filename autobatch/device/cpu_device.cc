#include "autobatch/device/cpu_device.h"

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autobatch/base/units.h"
#include "autobatch/device/host_files.h"
#include "autobatch/device/host_memory.h"

namespace autobatch {
namespace {

constexpr int64_t kDefaultBudget = 2 * kGiB;
constexpr int64_t kLeftToTheSystem = kGiB;

struct Budget {
  int64_t bytes = 0;
  std::string origin;
};

void Lower(Budget& budget, int64_t bytes, std::string origin) {
  if (bytes < budget.bytes) budget = {bytes, std::move(origin)};
}

Budget FindBudget(const HostMemory& memory, std::optional<int64_t> limit) {
  Budget budget = limit.has_value() ? Budget{*limit, "the memory limit asked for"}
                                    : Budget{kDefaultBudget, "the default for the CPU"};
  if (memory.available_bytes.has_value()) {
    Lower(budget, *memory.available_bytes - kLeftToTheSystem,
          absl::StrCat("MemAvailable ", FormatBytes(*memory.available_bytes), " less ",
                       FormatBytes(kLeftToTheSystem), " for the system"));
  }
  if (memory.cgroup_room_bytes.has_value()) {
    Lower(budget, *memory.cgroup_room_bytes, "what the cgroup still allows");
  }
  return budget;
}

std::string ModelName(absl::string_view root) {
  const std::string text = ReadHostFile(root, "/proc/cpuinfo").value_or(std::string());
  // Absent on most ARM machines.
  const std::optional<absl::string_view> model = FindValue(text, "model name");
  return model.has_value() && !model->empty() ? std::string(*model) : "CPU";
}

// FNV-1a: names, not secrets, are told apart.
absl::uint128 Fnv1a(absl::string_view text) {
  constexpr absl::uint128 prime = absl::MakeUint128(0x0000000001000000, 0x000000000000013B);
  absl::uint128 hash = absl::MakeUint128(0x6c62272e07bb0142, 0x62b821756295c58d);
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= prime;
  }
  return hash;
}

}  // namespace

std::string CpuUuid(absl::string_view host_name, int64_t index) {
  const absl::uint128 hash = Fnv1a(absl::StrCat("autobatch/cpu/", host_name, "/", index));
  const uint64_t high = absl::Uint128High64(hash);
  const uint64_t low = absl::Uint128Low64(hash);
  return absl::StrFormat("CPU-%08x-%04x-%04x-%04x-%012x", high >> 32, (high >> 16) & 0xffff,
                         high & 0xffff, low >> 48, low & 0xffffffffffff);
}

absl::StatusOr<Device> CpuDevice(absl::string_view root, absl::string_view host_name,
                                 std::optional<int64_t> memory_limit) {
  const HostMemory memory = ReadHostMemory(root);
  const Budget budget = FindBudget(memory, memory_limit);
  if (budget.bytes <= 0) {
    return absl::NotFoundError(
        absl::StrCat("the CPU has no memory to train in: nothing is left of ", budget.origin,
                     "; free some memory, or raise the cgroup's limit"));
  }
  Device device;
  device.uuid = CpuUuid(host_name, 0);
  device.kind = DeviceKind::kCpu;
  device.name = ModelName(root);
  device.address = "cpu";
  device.origin = absl::StrCat(FormatBytes(budget.bytes), ": ", budget.origin);
  device.memory.total_bytes = memory.total_bytes;
  device.memory.free_bytes = budget.bytes;
  return device;
}

}  // namespace autobatch
