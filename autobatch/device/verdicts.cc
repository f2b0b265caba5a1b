#include "autobatch/device/verdicts.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "autobatch/base/counted.h"

namespace autobatch {
namespace {

// What a UUID says without the words around it: the driver's bytes carry no "MIG-", and of
// "MIG-GPU-<uuid>/1/0" it knows the UUID alone.
std::string Core(absl::string_view uuid) {
  absl::ConsumePrefix(&uuid, "MIG-");
  absl::ConsumePrefix(&uuid, "GPU-");
  return absl::AsciiStrToLower(uuid.substr(0, uuid.find('/')));
}

const Device* Find(std::span<const Device> devices, const Device& wanted) {
  const std::string core = Core(wanted.uuid);
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const Device& device) { return Core(device.uuid) == core; });
  return found == devices.end() ? nullptr : &*found;
}

template <typename T>
void Prefer(std::optional<T>& ours, const std::optional<T>& theirs) {
  if (theirs.has_value()) ours = theirs;
}

// `ours` completed and corrected by the driver's words about the same device.
Device Merge(Device ours, const Device& driver) {
  if (!driver.name.empty()) ours.name = driver.name;
  Prefer(ours.pci_bus_id, driver.pci_bus_id);
  Prefer(ours.integrated, driver.integrated);
  Prefer(ours.compute_capability, driver.compute_capability);
  Prefer(ours.memory.total_bytes, driver.memory.total_bytes);
  // The child's context is in the driver's number; ours is without.
  if (!ours.memory.free_bytes.has_value()) ours.memory.free_bytes = driver.memory.free_bytes;
  ours.simulated = ours.simulated || driver.simulated;
  return ours;
}

std::string Describe(const Device& device) {
  return absl::StrCat(device.uuid, device.name.empty() ? "" : absl::StrCat(" (", device.name, ")"));
}

}  // namespace

Verdict CompareVerdicts(std::span<const Device> ours, std::span<const Device> drivers,
                        std::optional<int64_t> host_available_bytes) {
  Verdict verdict;
  if (ours.size() != drivers.size()) {
    verdict.warnings.push_back(absl::StrCat("by our reading ", Counted(std::ssize(ours), "device"),
                                            " should be visible, the CUDA driver enumerates ",
                                            drivers.size(), "; the driver is believed"));
  }
  for (const Device& device : ours) {
    if (Find(drivers, device) != nullptr) continue;
    verdict.warnings.push_back(
        absl::StrCat("the CUDA driver does not enumerate ", Describe(device),
                     device.origin.empty() ? "" : absl::StrCat(", ", device.origin)));
  }
  for (size_t index = 0; index < drivers.size(); ++index) {
    const std::string address = absl::StrCat("cuda:", index);
    const Device* known = Find(ours, drivers[index]);
    Device device = known == nullptr ? drivers[index] : Merge(*known, drivers[index]);
    if (known == nullptr) {
      device.origin = "enumerated by the CUDA driver";
      verdict.warnings.push_back(absl::StrCat("the CUDA driver also enumerates ", Describe(device),
                                              ", by our reading not visible"));
    } else if (known->visible_index.has_value() &&
               *known->visible_index != static_cast<int64_t>(index)) {
      verdict.warnings.push_back(
          absl::StrCat("the CUDA driver numbers ", Describe(device), " ", address,
                       ", by our reading it would be cuda:", *known->visible_index));
    }
    device.visible_index = static_cast<int64_t>(index);
    device.address = address;
    MemoryInfo& memory = device.memory;
    if (device.integrated == true && host_available_bytes.has_value()) {
      memory.free_bytes = host_available_bytes;
    }
    if (memory.free_bytes.has_value() && memory.total_bytes.has_value()) {
      memory.free_bytes = std::min(*memory.free_bytes, *memory.total_bytes);
    }
    verdict.devices.push_back(std::move(device));
  }
  return verdict;
}

}  // namespace autobatch
