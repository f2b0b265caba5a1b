#include "autobatch/device/device_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<OrderFacts> Mixed() {
  return {{"NVIDIA T4", "0000:3B:00.0", 100},
          {"NVIDIA A100", "0000:AF:00.0", 900},
          {"NVIDIA T4", "0000:1A:00.0", 100}};
}

TEST(OrderDevicesTest, PciBusId_OrdersByBusWithoutWarning) {
  const DeviceOrder order = OrderDevices("PCI_BUS_ID", Mixed());
  EXPECT_THAT(order.order, ElementsAre(2, 0, 1));
  EXPECT_THAT(order.warnings, IsEmpty());
}

TEST(OrderDevicesTest, MixedModels_FastestFirstThenByBusAndSaidToBeAGuess) {
  for (std::optional<absl::string_view> value :
       {std::optional<absl::string_view>(), std::optional<absl::string_view>("FASTEST_FIRST")}) {
    const DeviceOrder order = OrderDevices(value, Mixed());
    EXPECT_THAT(order.order, ElementsAre(1, 2, 0));
    EXPECT_THAT(order.warnings,
                ElementsAre(AllOf(HasSubstr("GPU 0 is the NVIDIA A100"), HasSubstr("guess"))));
  }
}

TEST(OrderDevicesTest, LikeModels_OrderByBusWhateverTheVariable) {
  std::vector<OrderFacts> devices = Mixed();
  devices.erase(devices.begin() + 1);
  EXPECT_THAT(OrderDevices(std::nullopt, devices).order, ElementsAre(1, 0));
  EXPECT_THAT(OrderDevices(std::nullopt, devices).warnings, IsEmpty());
}

TEST(OrderDevicesTest, SpeedUnknown_OrdersByBus) {
  std::vector<OrderFacts> devices = Mixed();
  for (OrderFacts& device : devices) device.speed.reset();
  EXPECT_THAT(OrderDevices(std::nullopt, devices).order, ElementsAre(2, 0, 1));
}

TEST(OrderDevicesTest, UnknownValue_IsFastestFirstAndNamed) {
  const DeviceOrder order = OrderDevices("PCI_BUS", Mixed());
  EXPECT_THAT(order.order, ElementsAre(1, 2, 0));
  EXPECT_THAT(order.warnings,
              ElementsAre(HasSubstr("CUDA_DEVICE_ORDER=PCI_BUS is neither"), HasSubstr("guess")));
}

TEST(OrderDevicesTest, NoDevices_NoOrder) {
  EXPECT_THAT(OrderDevices(std::nullopt, {}).order, IsEmpty());
}

}  // namespace
}  // namespace autobatch
