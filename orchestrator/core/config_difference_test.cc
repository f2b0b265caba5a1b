#include "orchestrator/core/config_difference.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const SharedConfig kFirst = {
    .agent = "a", .fields = {{"optimizer", "adam"}, {"precision", "fp32"}}, .digest = "1"};

TEST(ConfigDifferenceTest, SameSettings_InAnyOrder_DoNotDiffer) {
  EXPECT_EQ(ConfigDifference(kFirst, {.agent = "b",
                                      .fields = {{"precision", "fp32"}, {"optimizer", "adam"}},
                                      .digest = "1"}),
            "");
}

TEST(ConfigDifferenceTest, ChangedMissingAndAdditional_AreNamedWithBothValues) {
  EXPECT_EQ(
      ConfigDifference(
          kFirst, {.agent = "b", .fields = {{"optimizer", "sgd"}, {"ema", "on"}}, .digest = "2"}),
      "ema: 'on' on b, absent on a; optimizer: 'sgd' on b, 'adam' on a; "
      "precision: absent on b, 'fp32' on a");
}

TEST(ConfigDifferenceTest, DifferenceUnderOneDigest_IsFoundAllTheSame) {
  EXPECT_THAT(ConfigDifference(kFirst, {.agent = "b",
                                        .fields = {{"optimizer", "sgd"}, {"precision", "fp32"}},
                                        .digest = "1"}),
              HasSubstr("optimizer"));
}

TEST(ConfigDifferenceTest, OtherDigestOverTheSameFields_IsSaid) {
  SharedConfig other = kFirst;
  other.agent = "b";
  other.digest = "2";
  EXPECT_THAT(ConfigDifference(kFirst, other), HasSubstr("digests differ: 2 on b, 1 on a"));
}

TEST(ConfigDifferenceTest, SettingsOfNccl_CanBeLeftOut) {
  SharedConfig with = kFirst;
  with.fields.push_back({"nccl.NCCL_ALGO", "Ring"});
  with.digest = "2";
  EXPECT_TRUE(TakesPartInNccl(with.fields));
  EXPECT_FALSE(TakesPartInNccl(kFirst.fields));
  EXPECT_NE(ConfigDifference(kFirst, with), "");
  EXPECT_EQ(ConfigDifference(WithoutNccl(kFirst), WithoutNccl(with)), "");
}

TEST(ConfigDifferenceTest, ManyAndLongDifferences_AreCut) {
  SharedConfig other{.agent = "b", .digest = "2"};
  for (int i = 0; i < 100; ++i) {
    other.fields.push_back({absl::StrCat("setting-", i), std::string(4000, 'x')});
  }
  const std::string text = ConfigDifference(kFirst, other);
  EXPECT_LT(text.size(), 4000u);
  EXPECT_THAT(text, HasSubstr("and 94 more settings"));
  EXPECT_THAT(text, Not(HasSubstr(std::string(300, 'x'))));
}

}  // namespace
}  // namespace autobatch
