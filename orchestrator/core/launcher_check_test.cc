#include "orchestrator/core/launcher_check.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LauncherView View(absl::string_view agent, absl::string_view boot_id, int64_t devices,
                  LauncherClaims claims = {}) {
  return {.agent = agent, .boot_id = boot_id, .claims = std::move(claims), .devices = devices};
}

TEST(LauncherCheckTest, NoClaims_AreOneRankADevice) {
  const std::vector<LauncherView> views = {View("a", "1", 8), View("b", "2", 4)};
  const LauncherVerdict verdict = CheckLaunchers(views, 2);
  EXPECT_THAT(verdict.contradictions, IsEmpty());
  EXPECT_THAT(verdict.ranks, ElementsAre(8, 4));
}

TEST(LauncherCheckTest, UnevenNodes_AddUpToTheWorld) {
  const std::vector<LauncherView> views = {
      View("a", "1", 8, {.world_size = 12, .node_count = 2, .local_world_size = 8}),
      View("b", "2", 4, {.world_size = 12, .node_count = 2, .local_world_size = 4})};
  EXPECT_THAT(CheckLaunchers(views, 2).contradictions, IsEmpty());
}

TEST(LauncherCheckTest, FewerProcessesThanDevices_GiveFewerRanks) {
  const std::vector<LauncherView> views = {
      View("a", "1", 8, {.world_size = 4, .node_count = 1, .local_world_size = 4})};
  const LauncherVerdict verdict = CheckLaunchers(views, 1);
  EXPECT_THAT(verdict.contradictions, IsEmpty());
  EXPECT_THAT(verdict.ranks, ElementsAre(4));
}

TEST(LauncherCheckTest, AgentsOfOneNode_ShareItsProcesses) {
  const LauncherClaims claims{.world_size = 2, .node_count = 1, .local_world_size = 2};
  const std::vector<LauncherView> views = {View("a", "1", 1, claims), View("b", "1", 1, claims)};
  const LauncherVerdict verdict = CheckLaunchers(views, 1);
  EXPECT_THAT(verdict.contradictions, IsEmpty());
  EXPECT_THAT(verdict.ranks, ElementsAre(1, 1));
}

TEST(LauncherCheckTest, MoreProcessesThanDevices_AreNamed) {
  const std::vector<LauncherView> views = {View("a", "1", 4, {.local_world_size = 8})};
  EXPECT_THAT(CheckLaunchers(views, 2).contradictions,
              ElementsAre(HasSubstr("starts 8 processes on the node of a, where 4 devices")));
}

TEST(LauncherCheckTest, WorldSizeThatCountsNodes_IsCalledSo) {
  const LauncherClaims claims{.world_size = 2, .node_count = 2};
  const std::vector<LauncherView> views = {View("a", "1", 4, claims), View("b", "2", 4, claims)};
  EXPECT_THAT(CheckLaunchers(views, 2).contradictions,
              ElementsAre(HasSubstr("WORLD_SIZE 2, and the 2 nodes that are here have 8 ranks: it "
                                    "seems to count nodes")));
}

TEST(LauncherCheckTest, NodesThatDisagree_AreNamedOnce) {
  std::vector<LauncherView> views;
  for (const char* agent : {"a", "b", "c"}) {
    views.push_back(View(agent, agent, 4, {.world_size = agent[0] == 'a' ? 12 : 8}));
  }
  const LauncherVerdict verdict = CheckLaunchers(views, 9);
  EXPECT_THAT(verdict.contradictions, ElementsAre(HasSubstr("WORLD_SIZE 12 on a and 8 on b")));
}

TEST(LauncherCheckTest, AgentsOfOneNodeThatDisagree_AreNamed) {
  const std::vector<LauncherView> views = {View("a", "1", 4, {.local_world_size = 4}),
                                           View("b", "1", 4, {.local_world_size = 8})};
  EXPECT_THAT(CheckLaunchers(views, 9).contradictions,
              ElementsAre(HasSubstr("LOCAL_WORLD_SIZE 4 on a and 8 on b")));
}

TEST(LauncherCheckTest, PartOfTheJob_IsNotCompared) {
  const LauncherClaims claims{.world_size = 16, .node_count = 2, .local_world_size = 8};
  const std::vector<LauncherView> alone = {View("a", "1", 8, claims)};
  EXPECT_THAT(CheckLaunchers(alone, 2).contradictions, IsEmpty()) << "the other one was lost";
  const std::vector<LauncherView> three = {View("a", "1", 8, claims), View("b", "2", 8, claims),
                                           View("c", "3", 8, claims)};
  EXPECT_THAT(CheckLaunchers(three, 3).contradictions,
              ElementsAre(HasSubstr("2 nodes, and 3 are here")));
}

TEST(LauncherCheckTest, WithoutANodeCount_TheMaximumIsTheWhole) {
  const std::vector<LauncherView> views = {View("a", "1", 8, {.world_size = 7})};
  EXPECT_THAT(CheckLaunchers(views, 2).contradictions, IsEmpty());
  EXPECT_THAT(CheckLaunchers(views, 1).contradictions,
              ElementsAre(HasSubstr("WORLD_SIZE 7, and the 1 nodes that are here have 8 ranks")));
}

}  // namespace
}  // namespace autobatch
