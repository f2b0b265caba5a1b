#include "autobatch/simcuda/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autobatch::simcuda {
namespace {

using ::testing::ElementsAre;

TEST(TextTest, Split_WithSpaceAndEmptyPieces_KeepsThePieces) {
  EXPECT_THAT(Split(" a , b,,c ", ','), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(Split("", ','), ElementsAre(""));
}

TEST(TextTest, Sizes_WithUnits_ArePowersOf1024) {
  EXPECT_EQ(ParseBytes("24GiB"), uint64_t{24} << 30);
  EXPECT_EQ(ParseBytes("1.5G"), uint64_t{3} << 29);
  EXPECT_EQ(ParseBytes("400 MiB"), uint64_t{400} << 20);
  EXPECT_EQ(ParseBytes("4096"), 4096);
  EXPECT_EQ(ParseBytes("8KB"), 8192);
}

TEST(TextTest, Sizes_ThatAreNone_AreAbsent) {
  for (const char* text : {"", "GiB", "-1", "1X", "1GiBs", "nan", "1e30"}) {
    EXPECT_EQ(ParseBytes(text), std::nullopt) << text;
  }
}

TEST(TextTest, Numbers_WithAnythingElse_AreAbsent) {
  EXPECT_EQ(ParseNumber("17"), 17);
  for (const char* text : {"", "+1", "-1", "1 ", "0x1", "18446744073709551616"}) {
    EXPECT_EQ(ParseNumber(text), std::nullopt) << text;
  }
}

TEST(TextTest, NearestName_WithATypo_IsTheOneMeant) {
  EXPECT_EQ(NearestName("oom_ta", {"hang_at", "oom_at", "spill"}), "oom_at");
  EXPECT_EQ(NearestName("x", {}), "");
}

}  // namespace
}  // namespace autobatch::simcuda
