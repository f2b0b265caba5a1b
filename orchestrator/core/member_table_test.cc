#include "orchestrator/core/member_table.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "autobatch/base/version.h"

namespace autobatch {
namespace {

AgentHello Hello(absl::string_view agent, absl::string_view boot_id = "") {
  return {.run_id = "r",
          .agent = std::string(agent),
          .incarnation = "1",
          .boot_id = std::string(boot_id.empty() ? agent : boot_id),
          .devices = {{.uuid = absl::StrCat("GPU-", agent)}},
          .versions = {{.name = "autobatch", .value = kVersion}}};
}

TEST(MemberTableTest, Removal_FreesNameRankDeviceAndNode) {
  MemberTable table("r", 2);
  AgentHello a = Hello("a");
  a.node_rank = 0;
  ASSERT_NE(table.Admit(a, 1, "10.0.0.1").member, nullptr);
  EXPECT_EQ(table.NodeCount(), 1);
  table.Remove("a", /*lost=*/false);
  EXPECT_EQ(table.NodeCount(), 0);
  EXPECT_EQ(table.OfConnection(1), nullptr);
  AgentHello b = Hello("b");
  b.node_rank = 0;
  b.devices = a.devices;
  EXPECT_NE(table.Admit(b, 2, "10.0.0.2").member, nullptr);
  a.devices[0].uuid = "GPU-new";
  a.node_rank = 1;
  EXPECT_NE(table.Admit(a, 3, "10.0.0.1").member, nullptr) << "it left, it was not lost";
}

TEST(MemberTableTest, LostIncarnation_NeverComesBack) {
  MemberTable table("r", 2);
  table.Admit(Hello("a"), 1, "");
  table.Remove("a", /*lost=*/true);
  EXPECT_EQ(table.Admit(Hello("a"), 2, "").refuse.code, RefuseCode::kStaleRound);
  AgentHello anew = Hello("a");
  anew.incarnation = "2";
  EXPECT_NE(table.Admit(anew, 3, "").member, nullptr);
  EXPECT_EQ(table.Admit(Hello("a"), 4, "").refuse.code, RefuseCode::kStaleRound);
}

TEST(MemberTableTest, EarlierStart_IsOneWithoutAConnection) {
  MemberTable table("r", 2);
  Member& a = *table.Admit(Hello("a"), 1, "").member;
  AgentHello anew = Hello("a");
  anew.incarnation = "2";
  EXPECT_EQ(table.EarlierStart(anew), nullptr);
  table.Detach(a);
  EXPECT_EQ(table.EarlierStart(anew), &a);
  EXPECT_EQ(table.EarlierStart(Hello("a")), nullptr) << "the same start";
  anew.run_id = "x";
  EXPECT_EQ(table.EarlierStart(anew), nullptr);
}

TEST(MemberTableTest, Nodes_AreBootIdsOfThoseWhoAreNotExcluded) {
  MemberTable table("r", 9);
  table.Admit(Hello("a", "x"), 1, "");
  Member& b = *table.Admit(Hello("b", "x"), 2, "").member;
  table.Admit(Hello("c", "y"), 3, "");
  EXPECT_EQ(table.NodeCount(), 2);
  table.Exclude(b);
  table.Exclude(b);
  EXPECT_EQ(table.NodeCount(), 2);
  table.Remove("a", false);
  EXPECT_EQ(table.NodeCount(), 1);
  table.Remove("b", false);
  EXPECT_EQ(table.NodeCount(), 1);
  table.Remove("c", false);
  EXPECT_EQ(table.NodeCount(), 0);
}

TEST(MemberTableTest, Restored_IsANodeUntilItSaysWhoItIs) {
  MemberTable table("r", 9);
  table.Restore({"a", "1"});
  table.Restore({"b", "1"});
  EXPECT_EQ(table.NodeCount(), 2);
  EXPECT_TRUE(table.Admit(Hello("a", "x"), 1, "").back);
  EXPECT_TRUE(table.Admit(Hello("b", "x"), 2, "").back);
  EXPECT_EQ(table.NodeCount(), 1);
  EXPECT_EQ(table.Named("a")->devices.size(), 1u);
}

TEST(MemberTableTest, RestoredWithForeignDevice_IsRefused) {
  MemberTable table("r", 9);
  table.Admit(Hello("a"), 1, "");
  table.Restore({"b", "1"});
  AgentHello b = Hello("b");
  b.devices[0].uuid = "GPU-a";
  EXPECT_EQ(table.Admit(b, 2, "").refuse.code, RefuseCode::kDuplicateDevice);
}

TEST(MemberTableTest, Config_IsTheFirstMembersAndFallsWithTheLast) {
  MemberTable table("r", 9);
  EXPECT_EQ(table.config(), nullptr);
  AgentHello a = Hello("a");
  a.config_digest = "1";
  table.Admit(a, 1, "");
  AgentHello b = Hello("b");
  b.config_digest = "2";
  EXPECT_EQ(table.Admit(b, 2, "").refuse.code, RefuseCode::kConfig);
  table.Remove("a", false);
  EXPECT_NE(table.Admit(b, 3, "").member, nullptr);
  EXPECT_EQ(table.config()->digest, "2");
}

TEST(MemberTableTest, GivenUp_AreBounded) {
  MemberTable table("r", 4);
  for (int i = 0; i < 1000; ++i) {
    const std::string agent = absl::StrCat("node-", i);
    ASSERT_NE(table.Admit(Hello(agent), i, "").member, nullptr);
    table.Remove(agent, /*lost=*/true);
    EXPECT_EQ(table.Admit(Hello(agent), i, "").refuse.code, RefuseCode::kStaleRound);
  }
}

}  // namespace
}  // namespace autobatch
