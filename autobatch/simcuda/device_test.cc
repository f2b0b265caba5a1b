#include "autobatch/simcuda/device.h"

#include <gtest/gtest.h>

namespace autobatch::simcuda {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

DeviceSetup SmallCard() {
  DeviceSetup setup;
  setup.card.total = 1024 * kMiB;
  setup.context = 100 * kMiB;
  setup.uuid = MakeUuid("node", 0);
  return setup;
}

TEST(DeviceTest, Memory_OfOneByte_TakesAPage) {
  SharedUsage usage("");
  Device device(SmallCard(), usage);
  ASSERT_TRUE(device.CreateContext());
  ASSERT_TRUE(device.CreateContext());
  EXPECT_EQ(device.FreeBytes(), 924 * kMiB);
  void* const address = device.Allocate(1);
  ASSERT_NE(address, nullptr);
  EXPECT_TRUE(device.Owns(address));
  EXPECT_EQ(device.FreeBytes(), 922 * kMiB);
  EXPECT_TRUE(device.Free(address));
  EXPECT_FALSE(device.Free(address));
  EXPECT_EQ(device.FreeBytes(), 924 * kMiB);
  EXPECT_EQ(device.peak(), 102 * kMiB);
}

TEST(DeviceTest, Memory_BeyondTheCards_IsRefused) {
  SharedUsage usage("");
  Device device(SmallCard(), usage);
  ASSERT_TRUE(device.CreateContext());
  EXPECT_EQ(device.Allocate(925 * kMiB), nullptr);
  EXPECT_EQ(device.Allocate(~uint64_t{0}), nullptr);
  EXPECT_NE(device.Allocate(924 * kMiB), nullptr);
  EXPECT_FALSE(device.TakeMemory(1));
}

TEST(DeviceTest, Memory_ThatOthersHold_IsNotThere) {
  SharedUsage usage("");
  DeviceSetup setup = SmallCard();
  setup.used_by_others = 500 * kMiB;
  Device device(setup, usage);
  ASSERT_TRUE(device.CreateContext());
  EXPECT_EQ(device.FreeBytes(), 424 * kMiB);
  device.Steal(424 * kMiB);
  EXPECT_EQ(device.FreeBytes(), 0);
  EXPECT_EQ(device.Allocate(1), nullptr);
}

TEST(DeviceTest, Context_WithoutRoom_IsRefused) {
  SharedUsage usage("");
  DeviceSetup setup = SmallCard();
  setup.used_by_others = 1000 * kMiB;
  Device device(setup, usage);
  EXPECT_FALSE(device.CreateContext());
  EXPECT_FALSE(device.has_context());
}

TEST(DeviceTest, Spilling_BeyondTheCard_IsSeenButNotRefused) {
  SharedUsage usage("");
  DeviceSetup setup = SmallCard();
  setup.spill = true;
  Device device(setup, usage);
  ASSERT_TRUE(device.CreateContext());
  EXPECT_FALSE(device.Spilled());
  EXPECT_NE(device.Allocate(2000 * kMiB), nullptr);
  EXPECT_TRUE(device.Spilled());
  EXPECT_EQ(device.FreeBytes(), 0);
}

TEST(DeviceTest, Uuid_OfANodeAndNumber_IsAlwaysTheSameAndNobodyElses) {
  EXPECT_EQ(MakeUuid("a", 1).bytes, MakeUuid("a", 1).bytes);
  EXPECT_NE(MakeUuid("a", 1).bytes, MakeUuid("a", 2).bytes);
  EXPECT_NE(MakeUuid("a", 1).bytes, MakeUuid("b", 1).bytes);
  const std::string text = MakeUuid("a", 1).Text("GPU-");
  EXPECT_EQ(text.size(), 40);
  EXPECT_EQ(text.substr(0, 4), "GPU-");
  EXPECT_EQ(text[12], '-');
}

}  // namespace
}  // namespace autobatch::simcuda
