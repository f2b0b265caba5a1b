#ifndef AUTOBATCH_DEVICE_DEVICE_ORDER_H_
#define AUTOBATCH_DEVICE_DEVICE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace autobatch {

// What the order of a GPU depends on.
struct OrderFacts {
  std::string name;
  std::string pci_bus_id;
  // Cores times clock, in any unit; absent where NVML does not tell.
  std::optional<int64_t> speed;
};

struct DeviceOrder {
  // Positions in the list given, in CUDA's order.
  std::vector<size_t> order;
  // That the order is a guess, or that the variable's value is none.
  std::vector<std::string> warnings;
};

// The numbers that CUDA gives to GPUs while CUDA_VISIBLE_DEVICES is unset. `value` is
// CUDA_DEVICE_ORDER: PCI_BUS_ID orders by bus; anything else means FASTEST_FIRST, where the driver
// puts the GPU that it takes for the fastest first and the rest by bus. Among unlike models its
// choice can only be guessed at (a warning says so); among like ones the two orders are the same.
DeviceOrder OrderDevices(std::optional<absl::string_view> value,
                         std::span<const OrderFacts> devices);

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_DEVICE_ORDER_H_
