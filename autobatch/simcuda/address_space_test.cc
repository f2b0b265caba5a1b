#include "autobatch/simcuda/address_space.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

namespace autobatch::simcuda {
namespace {

TEST(AddressSpaceTest, Addresses_OfAnySize_BeginAtAPage) {
  AddressSpace space;
  ASSERT_TRUE(space.Create(64 * kPage));
  for (const uint64_t bytes : {uint64_t{1}, kPage, kPage + 1}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(space.Reserve(bytes)) % kPage, 0);
  }
}

TEST(AddressSpaceTest, Full_WithNoGapLeft_GivesNull) {
  AddressSpace space;
  ASSERT_TRUE(space.Create(4 * kPage));
  void* const all = space.Reserve(4 * kPage);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(space.Reserve(2 * kPage), nullptr);
  EXPECT_EQ(space.Release(all), 4 * kPage);
  EXPECT_EQ(space.Reserve(4 * kPage), all);
}

TEST(AddressSpaceTest, Release_OfWhatWasNotReserved_SaysSo) {
  AddressSpace space;
  ASSERT_TRUE(space.Create(4 * kPage));
  char* const address = static_cast<char*>(space.Reserve(2 * kPage));
  EXPECT_EQ(space.Release(address + kPage), std::nullopt);
  EXPECT_EQ(space.Release(&space), std::nullopt);
  EXPECT_EQ(space.Release(address), 2 * kPage);
  EXPECT_EQ(space.Release(address), std::nullopt);
}

TEST(AddressSpaceTest, Find_AnywhereInAReservation_GivesAllOfIt) {
  AddressSpace space;
  ASSERT_TRUE(space.Create(8 * kPage));
  char* const first = static_cast<char*>(space.Reserve(2 * kPage));
  char* const second = static_cast<char*>(space.Reserve(kPage));
  for (const char* inside : {second, second + 1, second + kPage - 1}) {
    EXPECT_EQ(space.Find(inside), (AddressRange{.begin = second, .bytes = kPage}));
  }
  EXPECT_EQ(space.Find(second + kPage), std::nullopt);
  EXPECT_EQ(space.Find(&space), std::nullopt);
  ASSERT_TRUE(space.Release(first).has_value());
  EXPECT_EQ(space.Find(first), std::nullopt);
}

TEST(AddressSpaceTest, AnyOrder_OfReserveAndRelease_EndsWithOneGap) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  AddressSpace space;
  ASSERT_TRUE(space.Create(256 * kPage));
  std::vector<void*> held;
  for (int i = 0; i < 2000; ++i) {
    if (random() % 2 == 0) {
      if (void* const address = space.Reserve((1 + random() % 8) * kPage)) held.push_back(address);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      ASSERT_TRUE(space.Release(held.back()).has_value());
      held.pop_back();
    }
  }
  for (void* const address : held) ASSERT_TRUE(space.Release(address).has_value());
  EXPECT_NE(space.Reserve(256 * kPage), nullptr);
}

}  // namespace
}  // namespace autobatch::simcuda
