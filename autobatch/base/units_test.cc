#include "autobatch/base/units.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

using ::testing::HasSubstr;

TEST(ParseBytesTest, KnownUnits_GiveBytes) {
  EXPECT_EQ(*ParseBytes("2GiB"), 2 * kGiB);
  EXPECT_EQ(*ParseBytes("512 MiB"), 512 * kMiB);
  EXPECT_EQ(*ParseBytes("1.5g"), 3 * kGiB / 2);
  EXPECT_EQ(*ParseBytes("800MB"), 800'000'000);
  EXPECT_EQ(*ParseBytes("4096"), 4096);
}

TEST(ParseBytesTest, BadInput_NamesItAndWhatIsRight) {
  for (const char* bad : {"", "GiB", "-1GiB", "2 parsecs", "1.2.3g", "99999999999TiB", "nan"}) {
    const auto bytes = ParseBytes(bad);
    ASSERT_FALSE(bytes.ok()) << bad;
    EXPECT_THAT(std::string(bytes.status().message()), HasSubstr("2GiB"));
  }
}

TEST(FormatBytesTest, EachMagnitude_IsReadable) {
  EXPECT_EQ(FormatBytes(17), "17 B");
  EXPECT_EQ(FormatBytes(512 * kMiB), "512.0 MiB");
  EXPECT_EQ(FormatBytes(3 * kGiB / 2), "1.50 GiB");
}

TEST(FormatCountTest, Thousands_AreSeparated) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(124439808), "124,439,808");
  EXPECT_EQ(FormatCount(-1234), "-1,234");
}

}  // namespace
}  // namespace autobatch
