#include "autobatch/device/visible_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::SizeIs;

std::vector<PhysicalDevice> FourGpus() {
  return {{.uuid = "GPU-9942190a-aa31-4ff1-4aa9-c388d80f85f1"},
          {.uuid = "GPU-9e8d35e3-a134-0fdd-0e01-23811fdbd293"},
          {.uuid = "GPU-e429a63e-c61c-4795-b757-5132caeb8e70"},
          {.uuid = "GPU-eee1dfbc-0a0f-6ad8-5ff6-dc942a8b9d98"}};
}

// One whole GPU, one with two instances, one in MIG mode without any.
std::vector<PhysicalDevice> MigNode() {
  return {{.uuid = "GPU-aaaaaaaa-0000-0000-0000-000000000000"},
          {.uuid = "GPU-bbbbbbbb-0000-0000-0000-000000000000",
           .mig_enabled = true,
           .instances = {{"MIG-11111111-0000-0000-0000-000000000000", 1, 0},
                         {"MIG-12222222-0000-0000-0000-000000000000", 2, 0}}},
          {.uuid = "GPU-cccccccc-0000-0000-0000-000000000000", .mig_enabled = true}};
}

std::vector<size_t> Ordinals(const VisibleDevices& visible) {
  std::vector<size_t> ordinals;
  ordinals.reserve(visible.devices.size());
  for (const VisibleDevice& device : visible.devices) ordinals.push_back(device.physical);
  return ordinals;
}

std::vector<size_t> Ordinals(std::optional<absl::string_view> value) {
  return Ordinals(ResolveVisible(value, FourGpus()));
}

TEST(ResolveVisibleTest, Unset_ShowsAllInOrderWithoutWarning) {
  const VisibleDevices visible = ResolveVisible(std::nullopt, FourGpus());
  EXPECT_THAT(Ordinals(visible), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(visible.warnings, IsEmpty());
  EXPECT_FALSE(visible.devices[0].entry.has_value());
}

TEST(ResolveVisibleTest, Empty_ShowsNoneAndSaysSo) {
  const VisibleDevices visible = ResolveVisible("", FourGpus());
  EXPECT_THAT(visible.devices, IsEmpty());
  EXPECT_THAT(visible.warnings, ElementsAre(HasSubstr("set and empty")));
}

TEST(ResolveVisibleTest, Indices_AreReadLikeStrtol) {
  EXPECT_THAT(Ordinals("2,1"), ElementsAre(2, 1));
  EXPECT_THAT(Ordinals(" 2 ,\t+3, -0,001"), ElementsAre(2, 3, 0, 1));
  EXPECT_THAT(Ordinals("1gpu2,2ampere"), ElementsAre(1, 2));
  EXPECT_THAT(Ordinals("0x1"), ElementsAre(0));
  EXPECT_THAT(Ordinals("0;1"), ElementsAre(0));
}

TEST(ResolveVisibleTest, IgnoredRestOfAnEntry_IsAWarning) {
  EXPECT_THAT(ResolveVisible("0;1", FourGpus()).warnings,
              ElementsAre(AllOf(HasSubstr("entry 1 of 1 ('0;1')"), HasSubstr("read as 0"),
                                HasSubstr("';1' is ignored"))));
  EXPECT_THAT(ResolveVisible(" 0 , 1", FourGpus()).warnings, IsEmpty());
}

TEST(ResolveVisibleTest, InvalidIndex_CutsTheList) {
  for (const char* bad :
       {"-1", "4", "+", "-", "", " ", "two", "4294967296", "4294967297", "18446744073709551616",
        "-9999999999999999999999", "--1", "gpu-9e8d35e3"}) {
    SCOPED_TRACE(bad);
    const VisibleDevices visible = ResolveVisible(absl::StrCat("2,", bad, ",1"), FourGpus());
    EXPECT_THAT(Ordinals(visible), ElementsAre(2));
    EXPECT_THAT(visible.warnings,
                ElementsAre(AllOf(HasSubstr(absl::StrCat("entry 2 of 3 ('", bad, "')")),
                                  HasSubstr("1 device is visible"), HasSubstr("GPUs 0 to 3"))));
    EXPECT_THAT(Ordinals(absl::string_view(bad).empty() ? "," : bad), IsEmpty());
  }
}

TEST(ResolveVisibleTest, Prefix_NamesTheOneDeviceThatBeginsSo) {
  EXPECT_THAT(Ordinals("GPU-e4,GPU-9e8d35e3"), ElementsAre(2, 1));
  EXPECT_THAT(Ordinals("GPU-9e8d35e3-a134-0fdd-0e01-23811fdbd293"), ElementsAre(1));
}

TEST(ResolveVisibleTest, PrefixThatFitsNoneOrSeveral_CutsTheList) {
  for (const char* bad : {"GPU-123", "GPU-e", "GPU-", "GPU-E4", " GPU-e4", "GPU-e4 ",
                          "GPU-e429a63e-c61c-4795-b757-5132caeb8e70x"}) {
    SCOPED_TRACE(bad);
    EXPECT_THAT(Ordinals(absl::StrCat("GPU-9e8d35e3,", bad, ",GPU-99")), ElementsAre(1));
    EXPECT_THAT(Ordinals(bad), IsEmpty());
  }
  EXPECT_THAT(ResolveVisible("GPU-e", FourGpus()).warnings,
              ElementsAre(AllOf(HasSubstr("fits several devices (GPU-e429"),
                                HasSubstr("no device is visible"))));
}

TEST(ResolveVisibleTest, MixedKinds_CutTheList) {
  EXPECT_THAT(Ordinals("GPU-9e,2"), ElementsAre(1));
  EXPECT_THAT(Ordinals("0,GPU-9e"), ElementsAre(0));
  EXPECT_THAT(Ordinals("GPU-e4,MIG-a"), ElementsAre(2));
  EXPECT_THAT(ResolveVisible("0,GPU-9e", FourGpus()).warnings,
              ElementsAre(HasSubstr("('GPU-9e') is a UUID and the first entry is an index")));
}

TEST(ResolveVisibleTest, DeviceNamedTwice_LeavesNone) {
  for (const char* value :
       {"5,5", "0,0,1", "00,0", "0,1,0,9", "GPU-9e,GPU-e4,GPU-9e8d", "GPU-9e,GPU-9e"}) {
    SCOPED_TRACE(value);
    EXPECT_THAT(Ordinals(value), IsEmpty());
  }
  EXPECT_THAT(ResolveVisible("1,0,01", FourGpus()).warnings,
              ElementsAre(AllOf(HasSubstr("entry 3 of 3 ('01')"),
                                HasSubstr("same device as entry 1 ('1')"))));
  // Cut before the second mention is reached.
  EXPECT_THAT(Ordinals("0,9,0"), ElementsAre(0));
}

TEST(ResolveVisibleTest, MigIds_NameAnInstance) {
  for (const char* value : {"MIG-12222222-0000-0000-0000-000000000000", "MIG-12",
                            "MIG-GPU-bbbbbbbb-0000-0000-0000-000000000000/2/0"}) {
    SCOPED_TRACE(value);
    const VisibleDevices visible = ResolveVisible(value, MigNode());
    ASSERT_THAT(visible.devices, SizeIs(1));
    EXPECT_EQ(visible.devices[0].physical, 1u);
    EXPECT_EQ(visible.devices[0].instance, 1u);
    EXPECT_THAT(visible.warnings, IsEmpty());
  }
}

TEST(ResolveVisibleTest, UnknownMigId_CutsTheList) {
  for (const char* value :
       {"MIG-1", "MIG-3", "MIG-GPU-bbbbbbbb-0000-0000-0000-000000000000/3/0", "MIG-",
        "MIG-GPU-bbbbbbbb-0000-0000-0000-000000000000", "MIG-GPU-bbbbbbbb/2/0",
        "MIG-GPU-aaaaaaaa-0000-0000-0000-000000000000/0/0"}) {
    SCOPED_TRACE(value);
    EXPECT_THAT(ResolveVisible(value, MigNode()).devices, IsEmpty());
  }
}

TEST(ResolveVisibleTest, SeveralInstances_OnlyTheFirstIsSeen) {
  const VisibleDevices visible = ResolveVisible("MIG-12,MIG-11", MigNode());
  ASSERT_THAT(visible.devices, SizeIs(1));
  EXPECT_EQ(visible.devices[0].instance, 1u);
  EXPECT_THAT(visible.warnings, ElementsAre(HasSubstr("1 of 2 devices")));
}

TEST(ResolveVisibleTest, GpuInMigMode_StandsForItsFirstInstanceAndHidesWholeGpus) {
  for (const char* value : {"0,1", "1,0", "1", "GPU-b"}) {
    SCOPED_TRACE(value);
    const VisibleDevices visible = ResolveVisible(value, MigNode());
    ASSERT_THAT(visible.devices, SizeIs(1));
    EXPECT_EQ(visible.devices[0].physical, 1u);
    EXPECT_EQ(visible.devices[0].instance, 0u);
  }
  const VisibleDevices all = ResolveVisible(std::nullopt, MigNode());
  ASSERT_THAT(all.devices, SizeIs(1));
  EXPECT_EQ(all.devices[0].instance, 0u);
  EXPECT_THAT(all.warnings, ElementsAre(HasSubstr("GPU 2 in MIG mode without an instance"),
                                        HasSubstr("1 of 3 devices")));
}

TEST(ResolveVisibleTest, GpuInMigModeWithoutInstance_CutsTheList) {
  EXPECT_THAT(Ordinals(ResolveVisible("0,2", MigNode())), ElementsAre(0));
}

TEST(ResolveVisibleTest, NoGpus_NothingIsVisibleAndTheReasonSaysWhy) {
  EXPECT_THAT(ResolveVisible(std::nullopt, {}).devices, IsEmpty());
  EXPECT_THAT(ResolveVisible("0", {}).warnings, ElementsAre(HasSubstr("no GPU")));
}

// Whatever the text: no device twice, none that is not there, entries in order, and fewer devices
// than entries only with a reason.
TEST(ResolveVisibleTest, AnyText_KeepsTheInvariants) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  const std::vector<std::string> pieces = {
      "0", "1", "2",    "3",    "9",      "-",  "+",  " ",      ",",        ",",    ",",
      "x", "/", "GPU-", "MIG-", "GPU-9e", "e4", "\t", "MIG-11", "MIG-GPU-", "\xff", "GPU-e4"};
  for (int round = 0; round < 20000; ++round) {
    std::string value;
    for (size_t i = random() % 8; i > 0; --i) value += pieces[random() % pieces.size()];
    SCOPED_TRACE(absl::StrCat("value '", value, "'"));
    const std::vector<PhysicalDevice> node = random() % 2 == 0 ? FourGpus() : MigNode();
    const VisibleDevices visible = ResolveVisible(value, node);
    EXPECT_THAT(Ordinals(visible), Each(Lt(node.size())));
    for (size_t i = 0; i < visible.devices.size(); ++i) {
      ASSERT_TRUE(visible.devices[i].entry.has_value());
      EXPECT_LT(*visible.devices[i].entry, visible.entries);
      for (size_t j = 0; j < i; ++j) {
        EXPECT_NE(visible.devices[i].physical, visible.devices[j].physical);
        EXPECT_LT(*visible.devices[j].entry, *visible.devices[i].entry);
      }
    }
    if (visible.devices.size() < visible.entries || value.empty()) {
      EXPECT_FALSE(visible.warnings.empty());
    }
    // The answer named by index is the answer.
    if (node[1].mig_enabled) continue;
    EXPECT_EQ(Ordinals(ResolveVisible(absl::StrJoin(Ordinals(visible), ","), node)),
              Ordinals(visible));
  }
}

}  // namespace
}  // namespace autobatch
