#include "autobatch/device/visible_devices.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace autobatch {
namespace {

constexpr absl::string_view kUuidPrefix = "GPU-";
constexpr absl::string_view kMigPrefix = "MIG-";

enum class EntryKind { kIndex, kUuid, kMig };

EntryKind KindOf(absl::string_view entry) {
  if (absl::StartsWith(entry, kUuidPrefix)) return EntryKind::kUuid;
  if (absl::StartsWith(entry, kMigPrefix)) return EntryKind::kMig;
  return EntryKind::kIndex;
}

absl::string_view KindName(EntryKind kind) {
  switch (kind) {
    case EntryKind::kIndex:
      return "an index";
    case EntryKind::kUuid:
      return "a UUID";
    case EntryKind::kMig:
      return "a MIG id";
  }
  return "?";
}

// What one entry names, or why it names nothing.
struct Meaning {
  std::optional<VisibleDevice> device;
  // With no device: why, and what would be right.
  std::string reason;
  // With a device: what of the entry was ignored.
  std::string remark;
};

Meaning Nothing(std::string reason) { return {.reason = std::move(reason)}; }

std::string ValidIndices(size_t count) {
  if (count == 0) return "this node has no GPU";
  if (count == 1) return "this node has one GPU: 0";
  return absl::StrCat("this node has GPUs 0 to ", count - 1);
}

// A GPU in MIG mode stands for its first instance.
Meaning WholeOrFirstInstance(size_t index, std::span<const PhysicalDevice> physical) {
  const PhysicalDevice& gpu = physical[index];
  if (!gpu.mig_enabled) return {.device = VisibleDevice{.physical = index}};
  if (gpu.instances.empty()) {
    return Nothing(
        absl::StrCat("is GPU ", index,
                     " in MIG mode without an instance; create one (nvidia-smi mig -cgi … "
                     "-C) or switch MIG mode off"));
  }
  return {.device = VisibleDevice{.physical = index, .instance = 0}};
}

// strtol in base 10, saturating.
Meaning ReadIndex(absl::string_view entry, std::span<const PhysicalDevice> physical) {
  const absl::string_view text = absl::StripAsciiWhitespace(entry);
  const bool negative = absl::StartsWith(text, "-");
  const size_t first = negative || absl::StartsWith(text, "+") ? 1 : 0;
  size_t end = first;
  while (end < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[end]))) ++end;
  if (end == first) {
    return Nothing(text.empty() ? absl::StrCat("is empty; ", ValidIndices(physical.size()))
                                : absl::StrCat("is neither an index nor \"GPU-…\" or \"MIG-…\"; ",
                                               ValidIndices(physical.size())));
  }
  const absl::string_view digits = text.substr(first, end - first);
  uint64_t index = 0;
  // More digits than an integer holds are past the last device too.
  const bool fits = absl::SimpleAtoi(digits, &index);
  if ((negative && !(fits && index == 0)) || !fits || index >= physical.size()) {
    return Nothing(absl::StrCat("is no GPU; ", ValidIndices(physical.size())));
  }
  Meaning meaning = WholeOrFirstInstance(static_cast<size_t>(index), physical);
  if (end < text.size()) {
    meaning.remark = absl::StrCat("is read as ", index, ": '", text.substr(end),
                                  "' is ignored; separate entries with commas alone");
  }
  return meaning;
}

// The one device or instance whose id begins with `entry`.
Meaning ReadPrefix(absl::string_view entry, std::span<const PhysicalDevice> physical,
                   EntryKind kind) {
  std::optional<VisibleDevice> match;
  std::string first_id;
  for (size_t gpu = 0; gpu < physical.size(); ++gpu) {
    const std::vector<MigInstance>& instances = physical[gpu].instances;
    const size_t ids = kind == EntryKind::kUuid ? 1 : instances.size();
    for (size_t i = 0; i < ids; ++i) {
      const std::string& id = kind == EntryKind::kUuid ? physical[gpu].uuid : instances[i].uuid;
      if (!absl::StartsWith(id, entry)) continue;
      if (match.has_value()) {
        return Nothing(absl::StrCat("fits several devices (", first_id, " and ", id,
                                    "); give more of the id"));
      }
      first_id = id;
      match = VisibleDevice{.physical = gpu};
      if (kind == EntryKind::kMig) match->instance = i;
    }
  }
  if (!match.has_value()) {
    return Nothing("is the beginning of no id of this node; nvidia-smi -L lists them");
  }
  return kind == EntryKind::kUuid ? WholeOrFirstInstance(match->physical, physical)
                                  : Meaning{.device = match};
}

// "MIG-GPU-<uuid>/<gpu instance>/<compute instance>", whichever form the driver itself uses.
Meaning ReadMig(absl::string_view entry, std::span<const PhysicalDevice> physical) {
  const std::vector<absl::string_view> parts = absl::StrSplit(entry.substr(kMigPrefix.size()), '/');
  int64_t gpu_instance = 0;
  int64_t compute_instance = 0;
  if (parts.size() == 3 && absl::SimpleAtoi(parts[1], &gpu_instance) &&
      absl::SimpleAtoi(parts[2], &compute_instance)) {
    for (size_t gpu = 0; gpu < physical.size(); ++gpu) {
      if (physical[gpu].uuid != parts[0]) continue;
      const std::vector<MigInstance>& instances = physical[gpu].instances;
      for (size_t i = 0; i < instances.size(); ++i) {
        if (instances[i].gpu_instance == gpu_instance &&
            instances[i].compute_instance == compute_instance) {
          return {.device = VisibleDevice{.physical = gpu, .instance = i}};
        }
      }
    }
  }
  return ReadPrefix(entry, physical, EntryKind::kMig);
}

Meaning Read(absl::string_view entry, EntryKind kind, std::span<const PhysicalDevice> physical) {
  switch (kind) {
    case EntryKind::kIndex:
      return ReadIndex(entry, physical);
    case EntryKind::kUuid:
      return ReadPrefix(entry, physical, kind);
    case EntryKind::kMig:
      return ReadMig(entry, physical);
  }
  return {};
}

// A process sees one MIG instance, and no whole GPU beside it.
void KeepOneInstance(VisibleDevices& visible) {
  const auto instance =
      std::find_if(visible.devices.begin(), visible.devices.end(),
                   [](const VisibleDevice& device) { return device.instance.has_value(); });
  if (instance == visible.devices.end() || visible.devices.size() == 1) return;
  visible.warnings.push_back(
      absl::StrCat("a MIG instance is visible: a CUDA process sees one instance and no GPU beside "
                   "it, here 1 of ",
                   visible.devices.size(),
                   " devices; start one probe per instance, each with CUDA_VISIBLE_DEVICES=MIG-…"));
  visible.devices = {*instance};
}

VisibleDevices Everything(std::span<const PhysicalDevice> physical) {
  VisibleDevices visible;
  for (size_t gpu = 0; gpu < physical.size(); ++gpu) {
    Meaning meaning = WholeOrFirstInstance(gpu, physical);
    if (meaning.device.has_value()) {
      // Other instances count as devices that are not seen.
      visible.devices.push_back(*meaning.device);
      for (size_t i = 1; i < physical[gpu].instances.size(); ++i) {
        visible.devices.push_back({.physical = gpu, .instance = i});
      }
    } else {
      visible.warnings.push_back(absl::StrCat("a GPU is not visible: it ", meaning.reason));
    }
  }
  return visible;
}

std::string Devices(size_t count) {
  return count == 0
             ? "no device is visible"
             : absl::StrCat(count, count == 1 ? " device is visible" : " devices are visible");
}

}  // namespace

VisibleDevices ResolveVisible(std::optional<absl::string_view> value,
                              std::span<const PhysicalDevice> physical) {
  VisibleDevices visible;
  if (!value.has_value()) {
    visible = Everything(physical);
    KeepOneInstance(visible);
    return visible;
  }
  if (value->empty()) {
    visible.warnings.push_back(
        "CUDA_VISIBLE_DEVICES is set and empty: no device is visible; unset it to see all");
    return visible;
  }
  const std::vector<absl::string_view> entries = absl::StrSplit(*value, ',');
  visible.entries = entries.size();
  const EntryKind kind = KindOf(entries[0]);
  for (size_t at = 0; at < entries.size(); ++at) {
    const std::string where = absl::StrCat("CUDA_VISIBLE_DEVICES=", *value, ": entry ", at + 1,
                                           " of ", entries.size(), " ('", entries[at], "') ");
    const EntryKind own_kind = KindOf(entries[at]);
    Meaning meaning =
        own_kind == kind
            ? Read(entries[at], kind, physical)
            : Nothing(absl::StrCat("is ", KindName(own_kind), " and the first entry is ",
                                   KindName(kind), "; write all in one way"));
    if (!meaning.device.has_value()) {
      visible.warnings.push_back(absl::StrCat(
          where, meaning.reason,
          ". The driver ignores it and all after it: ", Devices(visible.devices.size())));
      break;
    }
    if (!meaning.remark.empty()) visible.warnings.push_back(absl::StrCat(where, meaning.remark));
    for (const VisibleDevice& earlier : visible.devices) {
      if (earlier.physical != meaning.device->physical ||
          earlier.instance != meaning.device->instance) {
        continue;
      }
      visible.warnings.push_back(absl::StrCat(
          where, "names the same device as entry ", *earlier.entry + 1, " ('",
          entries[*earlier.entry], "'). The driver then shows none at all; name each device once"));
      visible.devices.clear();
      return visible;
    }
    meaning.device->entry = at;
    visible.devices.push_back(*meaning.device);
  }
  KeepOneInstance(visible);
  return visible;
}

}  // namespace autobatch
