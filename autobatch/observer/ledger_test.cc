#include "autobatch/observer/ledger.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace autobatch::observer {
namespace {

void Hold(Ledger& ledger, int device, uint64_t key, int64_t bytes) {
  ASSERT_TRUE(ledger.Reserve(device, bytes));
  ledger.Keep(device, key, bytes);
}

TEST(LedgerTest, PeakIsTheMostThatWasHeldAtOnce) {
  ObservedDevices shared = {};
  Ledger ledger(&shared);
  Hold(ledger, 0, 1, 100);
  Hold(ledger, 0, 2, 50);
  ledger.Free(1);
  Hold(ledger, 0, 3, 70);
  EXPECT_EQ(shared.devices[0].peak_bytes, 150);
  EXPECT_EQ(shared.devices[0].held_bytes, 120);
  EXPECT_EQ(shared.devices[0].processes, 1);
  EXPECT_EQ(shared.devices[0].refusals, 0);
}

TEST(LedgerTest, AboveTheBudget_IsRefusedAndNotCounted) {
  ObservedDevices shared = {};
  shared.devices[0].budget_bytes = 100;
  Ledger ledger(&shared);
  Hold(ledger, 0, 1, 100);
  EXPECT_FALSE(ledger.Reserve(0, 1));
  EXPECT_EQ(shared.devices[0].refusals, 1);
  EXPECT_EQ(shared.devices[0].refused_bytes, 1);
  EXPECT_EQ(shared.devices[0].peak_bytes, 100);
  ledger.Free(1);
  EXPECT_TRUE(ledger.Reserve(0, 1));
}

TEST(LedgerTest, BudgetIsOneForAllProcesses) {
  ObservedDevices shared = {};
  shared.devices[0].budget_bytes = 100;
  Ledger one(&shared);
  {
    Ledger other(&shared);
    Hold(other, 0, 1, 60);
    EXPECT_FALSE(one.Reserve(0, 50));
  }
  EXPECT_EQ(shared.devices[0].held_bytes, 0) << "a process that ends gives its memory back";
  EXPECT_TRUE(one.Reserve(0, 50));
  EXPECT_EQ(shared.devices[0].processes, 2);
  EXPECT_EQ(shared.devices[0].ended, 1);
}

TEST(LedgerTest, RefusalOfTheDriver_IsOnRecord) {
  ObservedDevices shared = {};
  Ledger ledger(&shared);
  ASSERT_TRUE(ledger.Reserve(0, 10));
  ledger.Refuse(0, 10);
  EXPECT_EQ(shared.devices[0].held_bytes, 0);
  EXPECT_EQ(shared.devices[0].refusals, 1);
}

TEST(LedgerTest, EachDevice_HasItsOwnSumsAndBudget) {
  ObservedDevices shared = {};
  shared.devices[1].budget_bytes = 100;
  Ledger ledger(&shared);
  Hold(ledger, 0, 1, 500);
  Hold(ledger, 1, 2, 90);
  EXPECT_FALSE(ledger.Reserve(1, 20));
  EXPECT_EQ(shared.devices[0].peak_bytes, 500);
  EXPECT_EQ(shared.devices[0].refusals, 0);
  EXPECT_EQ(shared.devices[1].peak_bytes, 90);
  EXPECT_EQ(shared.devices[1].refusals, 1);
  ledger.Free(1);
  EXPECT_EQ(shared.devices[0].held_bytes, 0);
  EXPECT_EQ(shared.devices[1].held_bytes, 90);
}

TEST(LedgerTest, Rises_AreNotedByTheWorkThatWasDone) {
  ObservedDevices shared = {};
  Ledger ledger(&shared);
  const auto take = [&](int64_t bytes, uint64_t key) { Hold(ledger, 1, key, bytes); };
  take(1000, 1);
  ledger.CountLaunch();
  ledger.CountLaunch();
  take(10, 2);
  EXPECT_EQ(shared.rises[1].count, 1) << "1 % is not worth a note";
  take(90, 3);
  ledger.Free(1);
  ledger.CountLaunch();
  take(1000, 4);
  EXPECT_EQ(shared.launches, 3);
  ASSERT_EQ(shared.rises[1].count, 2) << "no higher than before";
  EXPECT_EQ(shared.rises[1].rises[0].launches, 0);
  EXPECT_EQ(shared.rises[1].rises[0].peak_bytes, 1000);
  EXPECT_EQ(shared.rises[1].rises[1].launches, 2);
  EXPECT_EQ(shared.rises[1].rises[1].peak_bytes, 1100);
  EXPECT_EQ(shared.rises[0].count, 0);
}

TEST(LedgerTest, MoreRisesThanThereIsRoomFor_AreOnlyCounted) {
  ObservedDevices shared = {};
  shared.rises[0].count = ObservedRises::kMost;
  Ledger ledger(&shared);
  ASSERT_TRUE(ledger.Reserve(0, 1000));
  EXPECT_EQ(shared.rises[0].count, ObservedRises::kMost + 1);
  EXPECT_EQ(shared.rises[1].count, 0);
}

TEST(LedgerTest, MemoryFromElsewhere_IsNoneOfItsBusiness) {
  ObservedDevices shared = {};
  Ledger ledger(&shared);
  ledger.Free(77);
  EXPECT_EQ(shared.devices[0].held_bytes, 0);
  Ledger blind(nullptr);
  EXPECT_TRUE(blind.Reserve(0, int64_t{1} << 60));
  blind.Free(1);
}

}  // namespace
}  // namespace autobatch::observer
