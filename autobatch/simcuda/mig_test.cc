#include "autobatch/simcuda/mig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autobatch/simcuda/catalogue.h"

namespace autobatch::simcuda {
namespace {

using ::testing::HasSubstr;

MigSlices Parse(const char* text, const char* card) { return ParseMig(text, *FindCard(card)); }

TEST(MigTest, ProfilesOfACard_MakeInstances) {
  const MigSlices parsed = Parse("3g.40gb+2g.20gb+1g.10gb", "a100-80");
  ASSERT_EQ(parsed.error, "");
  ASSERT_EQ(parsed.slices.size(), 3);
  EXPECT_EQ(parsed.slices[0].card.name, "NVIDIA A100-SXM4-80GB MIG 3g.40gb");
  EXPECT_EQ(parsed.slices[0].card.multiprocessors, 42);
  EXPECT_NEAR(static_cast<double>(parsed.slices[0].card.total), 85100068864 / 2.0, 1 << 16);
  EXPECT_NEAR(static_cast<double>(parsed.slices[2].card.total), 85100068864 / 8.0, 1 << 16);
  EXPECT_EQ(parsed.slices[2].card.multiprocessors, 14);
}

TEST(MigTest, EveryKindOfCard_HasTheProfilesOfTheGuide) {
  const auto profiles = [](const char* card) { return Parse("no", card).error; };
  EXPECT_THAT(profiles("a30"), HasSubstr("it has 1g.6gb, 2g.12gb, 4g.24gb"));
  EXPECT_THAT(profiles("a100-40"),
              HasSubstr("it has 1g.5gb, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb"));
  for (const char* card : {"a100-80", "a100-80-pcie", "h100-80", "h100-pcie"}) {
    EXPECT_THAT(profiles(card),
                HasSubstr("it has 1g.10gb, 1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb"));
  }
  EXPECT_THAT(profiles("gh200"),
              HasSubstr("it has 1g.12gb, 1g.24gb, 2g.24gb, 3g.48gb, 4g.48gb, 7g.96gb"));
  EXPECT_THAT(profiles("h200"),
              HasSubstr("it has 1g.18gb, 1g.35gb, 2g.35gb, 3g.71gb, 4g.71gb, 7g.141gb"));
  EXPECT_THAT(profiles("b200"),
              HasSubstr("it has 1g.23gb, 1g.45gb, 2g.45gb, 3g.90gb, 4g.90gb, 7g.180gb"));
  EXPECT_THAT(profiles("pro6000-blackwell"), HasSubstr("it has 1g.24gb, 2g.48gb, 4g.96gb"));
}

TEST(MigTest, SliceOfFour_HasAQuarterOfTheCard) {
  const MigSlices parsed = Parse("1g.6gb", "a30");
  ASSERT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.slices[0].card.multiprocessors, 14);
  EXPECT_NEAR(static_cast<double>(parsed.slices[0].card.total), 25337790464 / 4.0, 1 << 16);
}

TEST(MigTest, WhatCannotBe_IsRefused) {
  for (const char* card : {"t4", "rtx3090", "rtx4090", "rtx5090", "v100-16"}) {
    EXPECT_THAT(Parse("1g.5gb", card).error, HasSubstr("has no MIG"));
  }
  for (const char* text : {"", "1g.5gb", "5g.40gb", "3g", "3g.40gb+", "-1g.10gb", "1g.10gb "}) {
    const bool spaced = std::string(text) == "1g.10gb ";
    EXPECT_EQ(Parse(text, "a100-80").error.empty(), spaced) << text;
  }
  EXPECT_THAT(Parse("4g.40gb+4g.40gb", "a100-80").error, HasSubstr("do not fit"));
  EXPECT_THAT(Parse("3g.40gb+3g.40gb+1g.10gb", "a100-80").error, HasSubstr("do not fit"));
  EXPECT_THAT(Parse("4g.24gb+1g.6gb", "a30").error, HasSubstr("do not fit"));
}

}  // namespace
}  // namespace autobatch::simcuda
