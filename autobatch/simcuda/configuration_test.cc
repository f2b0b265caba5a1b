#include "autobatch/simcuda/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autobatch::simcuda {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST(ConfigurationTest, Names_OfTheCatalogue_GiveItsCards) {
  const DeviceList list = ParseDeviceList("rtx3090, a100-80");
  ASSERT_EQ(list.error, "");
  ASSERT_EQ(list.devices.size(), 2);
  EXPECT_EQ(list.devices[0].card.name, "NVIDIA GeForce RTX 3090");
  EXPECT_EQ(list.devices[0].card.total, 25414860800);
  EXPECT_EQ(list.devices[0].card.nvml_total, 24576 * (kGiB / 1024));
  EXPECT_EQ(list.devices[1].card.compute_capability(), 80);
  EXPECT_EQ(list.devices[1].card.multiprocessors, 108);
}

TEST(ConfigurationTest, CustomCard_OfAnArchitecture_IsLikeItsCards) {
  const DeviceList list = ParseDeviceList("custom:memory=24GiB:sm=8.6:context=400MiB");
  ASSERT_EQ(list.error, "");
  const Card& card = list.devices.at(0).card;
  EXPECT_EQ(card.total, 24 * kGiB);
  EXPECT_EQ(card.compute_capability(), 86);
  EXPECT_EQ(card.context, 400u << 20);
  EXPECT_EQ(card.shared_per_block, 101376);
  EXPECT_EQ(card.threads_per_multiprocessor, 1536);
}

TEST(ConfigurationTest, CustomCard_WithAnArchitectureBehindItsMemory_KeepsBoth) {
  const DeviceList list = ParseDeviceList("custom:sm=9.0:memory=80GiB");
  ASSERT_EQ(list.error, "");
  EXPECT_EQ(list.devices.at(0).card.compute_capability(), 90);
  EXPECT_EQ(list.devices.at(0).card.shared_per_block, 232448);
}

TEST(ConfigurationTest, Options_OfACard_ChangeIt) {
  const DeviceList list = ParseDeviceList("rtx3090:used=4GiB:total=lowest:count=3");
  ASSERT_EQ(list.error, "");
  ASSERT_EQ(list.devices.size(), 3);
  EXPECT_EQ(list.devices[2].used_by_others, 4 * kGiB);
  EXPECT_EQ(list.devices[2].card.total, 25286672384);
}

TEST(ConfigurationTest, MigProfiles_MakeInstances) {
  const DeviceList list = ParseDeviceList("a100-80:mig=3g.40gb+2g.20gb");
  ASSERT_EQ(list.error, "");
  EXPECT_EQ(list.devices.at(0).slices.size(), 2);
}

TEST(ConfigurationTest, BadText_OfAnyKind_NamesTheEntryAndWhatIsWrong) {
  const auto error = [](const char* text) { return ParseDeviceList(text).error; };
  EXPECT_EQ(error("rtx3090,rtx3900"),
            "'rtx3900': unknown card 'rtx3900'; the nearest is 'rtx3090'");
  EXPECT_THAT(error(""), HasSubstr("empty entry"));
  EXPECT_THAT(error("rtx3090,,t4"), HasSubstr("empty entry"));
  EXPECT_THAT(error("RTX3090"), HasSubstr("'rtx3090'"));
  EXPECT_THAT(error("custom"), HasSubstr("needs its memory"));
  EXPECT_THAT(error("custom:memory=24"), HasSubstr("64MiB to 16TiB"));
  EXPECT_THAT(error("custom:memory=-1GiB"), HasSubstr("write it like 24GiB"));
  EXPECT_THAT(error("custom:memory=99999TiB"), HasSubstr("64MiB to 16TiB"));
  EXPECT_THAT(error("custom:memory=24GiB:sm=86"), HasSubstr("write it like 8.6"));
  EXPECT_THAT(error("rtx3090:memroy=1GiB"), HasSubstr("the nearest is 'memory'"));
  EXPECT_THAT(error("rtx3090:used"), HasSubstr("no option"));
  EXPECT_THAT(error("rtx3090:used=25GiB"), HasSubstr("more than the card has"));
  EXPECT_THAT(error("rtx3090:count=33"), HasSubstr("1 to 32"));
  EXPECT_THAT(error("rtx3090:count=20,rtx3090:count=20"), HasSubstr("more than 32"));
  EXPECT_THAT(error("t4:mig=1g.5gb"), HasSubstr("has no MIG"));
  EXPECT_THAT(error("a100-80:mig=big"), HasSubstr("no MIG profile"));
  EXPECT_THAT(error("custom:memory=24GiB:context=24GiB"), HasSubstr("no room"));
  EXPECT_THAT(error("rtx3090:used=23GiB:context=1GiB"), HasSubstr("no room"));
}

}  // namespace
}  // namespace autobatch::simcuda
