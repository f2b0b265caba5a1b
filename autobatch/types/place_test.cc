#include "autobatch/types/place.h"

#include <gtest/gtest.h>

namespace autobatch {
namespace {

TEST(PlaceTest, FieldsAndElements_AreAPath) {
  const Place whole;
  const Place devices(whole, "devices");
  const Place device(devices, 3);
  EXPECT_EQ(whole.ToString(), "");
  EXPECT_EQ(Place("round").ToString(), "round");
  EXPECT_EQ(devices.ToString(), "devices");
  EXPECT_EQ(device.ToString(), "devices[3]");
  EXPECT_EQ(Place(device, "uuid").ToString(), "devices[3].uuid");
  EXPECT_EQ(Place(whole, size_t{0}).ToString(), "[0]");
}

}  // namespace
}  // namespace autobatch
