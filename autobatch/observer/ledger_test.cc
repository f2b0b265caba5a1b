#include "autobatch/observer/ledger.h"

#include <gtest/gtest.h>

namespace autobatch::observer {
namespace {

TEST(LedgerTest, PeakIsTheMostThatWasHeldAtOnce) {
  ObservedMemory shared = {};
  Ledger ledger(&shared);
  ASSERT_TRUE(ledger.Reserve(100));
  ledger.Keep(1, 100);
  ASSERT_TRUE(ledger.Reserve(50));
  ledger.Keep(2, 50);
  ledger.Free(1);
  ASSERT_TRUE(ledger.Reserve(70));
  ledger.Keep(3, 70);
  EXPECT_EQ(shared.peak_bytes, 150);
  EXPECT_EQ(shared.held_bytes, 120);
  EXPECT_EQ(shared.processes, 1);
  EXPECT_EQ(shared.refusals, 0);
}

TEST(LedgerTest, AboveTheBudget_IsRefusedAndNotCounted) {
  ObservedMemory shared = {};
  shared.budget_bytes = 100;
  Ledger ledger(&shared);
  ASSERT_TRUE(ledger.Reserve(100));
  ledger.Keep(1, 100);
  EXPECT_FALSE(ledger.Reserve(1));
  EXPECT_EQ(shared.refusals, 1);
  EXPECT_EQ(shared.refused_bytes, 1);
  EXPECT_EQ(shared.peak_bytes, 100);
  ledger.Free(1);
  EXPECT_TRUE(ledger.Reserve(1));
}

TEST(LedgerTest, BudgetIsOneForAllProcesses) {
  ObservedMemory shared = {};
  shared.budget_bytes = 100;
  Ledger one(&shared);
  {
    Ledger other(&shared);
    ASSERT_TRUE(other.Reserve(60));
    other.Keep(1, 60);
    EXPECT_FALSE(one.Reserve(50));
  }
  EXPECT_EQ(shared.held_bytes, 0) << "a process that ends gives its memory back";
  EXPECT_TRUE(one.Reserve(50));
  EXPECT_EQ(shared.processes, 2);
  EXPECT_EQ(shared.ended, 1);
}

TEST(LedgerTest, RefusalOfTheDriver_IsOnRecord) {
  ObservedMemory shared = {};
  Ledger ledger(&shared);
  ASSERT_TRUE(ledger.Reserve(10));
  ledger.Refuse(10);
  EXPECT_EQ(shared.held_bytes, 0);
  EXPECT_EQ(shared.refusals, 1);
}

TEST(LedgerTest, MemoryFromElsewhere_IsNoneOfItsBusiness) {
  ObservedMemory shared = {};
  Ledger ledger(&shared);
  ledger.Free(77);
  EXPECT_EQ(shared.held_bytes, 0);
  Ledger blind(nullptr);
  EXPECT_TRUE(blind.Reserve(int64_t{1} << 60));
  blind.Free(1);
}

}  // namespace
}  // namespace autobatch::observer
