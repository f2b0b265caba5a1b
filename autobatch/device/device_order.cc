#include "autobatch/device/device_order.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

constexpr absl::string_view kPciBusId = "PCI_BUS_ID";
constexpr absl::string_view kFastestFirst = "FASTEST_FIRST";

bool AllAlike(std::span<const OrderFacts> devices) {
  return std::all_of(devices.begin(), devices.end(),
                     [&](const OrderFacts& device) { return device.name == devices.front().name; });
}

}  // namespace

DeviceOrder OrderDevices(std::optional<absl::string_view> value,
                         std::span<const OrderFacts> devices) {
  DeviceOrder result;
  if (value.has_value() && *value != kPciBusId && *value != kFastestFirst) {
    result.warnings.push_back(absl::StrCat("CUDA_DEVICE_ORDER=", *value,
                                           " is neither PCI_BUS_ID nor FASTEST_FIRST; the driver "
                                           "takes it for FASTEST_FIRST"));
  }
  result.order.resize(devices.size());
  std::iota(result.order.begin(), result.order.end(), size_t{0});
  std::sort(result.order.begin(), result.order.end(), [&](size_t a, size_t b) {
    return std::tie(devices[a].pci_bus_id, a) < std::tie(devices[b].pci_bus_id, b);
  });
  if (value == kPciBusId || AllAlike(devices)) return result;

  const auto fastest =
      std::max_element(result.order.begin(), result.order.end(), [&](size_t a, size_t b) {
        return devices[a].speed.value_or(0) < devices[b].speed.value_or(0);
      });
  std::rotate(result.order.begin(), fastest, fastest + 1);
  result.warnings.push_back(
      absl::StrCat("the GPUs are of different models and CUDA_DEVICE_ORDER is not PCI_BUS_ID: that "
                   "GPU 0 is the ",
                   devices[result.order.front()].name,
                   " is a guess until the driver is asked; set CUDA_DEVICE_ORDER=PCI_BUS_ID, or "
                   "name GPUs by UUID"));
  return result;
}

}  // namespace autobatch
