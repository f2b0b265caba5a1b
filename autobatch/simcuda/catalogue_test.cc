#include "autobatch/simcuda/catalogue.h"

#include <gtest/gtest.h>

#include <set>

namespace autobatch::simcuda {
namespace {

TEST(CatalogueTest, EveryCard_OfTheTable_IsWhole) {
  std::set<std::string> ids;
  for (const Card& card : Catalogue()) {
    SCOPED_TRACE(card.id);
    EXPECT_EQ(card.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"),
              std::string::npos);
    EXPECT_TRUE(ids.insert(card.id).second);
    EXPECT_FALSE(card.name.empty());
    EXPECT_GT(card.total, uint64_t{7} << 30);
    EXPECT_LE(card.lowest_total, card.total);
    EXPECT_GE(card.highest_total, card.total);
    EXPECT_GE(card.nvml_total, card.total);
    EXPECT_GE(card.compute_capability(), 60);
    EXPECT_GT(card.multiprocessors, 20);
    EXPECT_GT(card.l2, 0);
    EXPECT_GE(card.shared_per_block, 49152);
    EXPECT_GE(card.shared_per_multiprocessor, card.shared_per_block);
    EXPECT_GE(card.threads_per_multiprocessor, 1024);
  }
  EXPECT_EQ(ids.size(), 41);
}

TEST(CatalogueTest, UnknownName_NearAnother_NamesIt) {
  EXPECT_EQ(FindCard("h100"), nullptr);
  EXPECT_EQ(UnknownCard("h100-8"), "unknown card 'h100-8'; the nearest is 'h100-80'");
}

}  // namespace
}  // namespace autobatch::simcuda
