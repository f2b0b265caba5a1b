#include "autobatch/device/pci_bus_id.h"

#include <gtest/gtest.h>

namespace autobatch {
namespace {

TEST(CudaPciBusIdTest, EverySpelling_BecomesCudas) {
  EXPECT_EQ(CudaPciBusId("00000000:3B:00.0"), "0000:3B:00.0");
  EXPECT_EQ(CudaPciBusId("0000:3b:00.0"), "0000:3B:00.0");
}

TEST(CudaPciBusIdTest, WideDomain_IsKept) {
  EXPECT_EQ(CudaPciBusId("00010000:3B:00.0"), "00010000:3B:00.0");
}

}  // namespace
}  // namespace autobatch
