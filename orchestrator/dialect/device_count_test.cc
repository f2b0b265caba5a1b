#include "orchestrator/dialect/device_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autobatch {
namespace {

using ::testing::HasSubstr;

LauncherFacts Ranks(int64_t here) { return {.dialect = Dialect::kSlurm, .local_world_size = here}; }

TEST(CheckDeviceCount_MoreRanksThanDevices, IsRefused) {
  EXPECT_TRUE(CheckDeviceCount(Ranks(8), 8).ok());
  EXPECT_TRUE(CheckDeviceCount(LauncherFacts(), 8).ok());
  const absl::Status status = CheckDeviceCount(Ranks(8), 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("Slurm starts 8 ranks on this node, and it has 1 device;"));
}

TEST(CheckDeviceCount_WorldSizeThatCountsNodes, NeedsOneDeviceANode) {
  LauncherFacts facts{.dialect = Dialect::kKubeflow, .world_size_counts = WorldSizeCounts::kNodes};
  EXPECT_TRUE(CheckDeviceCount(facts, 1).ok());
  EXPECT_THAT(std::string(CheckDeviceCount(facts, 8).message()),
              HasSubstr("WORLD_SIZE of Kubeflow counts nodes, and this one has 8 devices"));
}

TEST(WithoutOwnTask_OneTaskANode_IsTheAgentAndNoRank, OfSlurmAndMpi) {
  LauncherFacts facts{.dialect = Dialect::kSlurm,
                      .rank = 1,
                      .local_rank = 0,
                      .world_size = 2,
                      .local_world_size = 1,
                      .node_rank = 1,
                      .node_count = 2};
  const LauncherFacts without = WithoutOwnTask(facts);
  EXPECT_FALSE(without.world_size.has_value());
  EXPECT_FALSE(without.local_world_size.has_value());
  EXPECT_EQ(without.node_rank, 1);
  EXPECT_EQ(without.node_count, 2);
  facts.local_world_size = 8;
  EXPECT_EQ(WithoutOwnTask(facts).world_size, 2);
  // A pod says how many processes torchrun will start in it.
  facts.dialect = Dialect::kKubeflow;
  facts.local_world_size = 1;
  EXPECT_EQ(WithoutOwnTask(facts).local_world_size, 1);
}

TEST(IdleDevices_FewerRanksThanDevices, AreNamed) {
  EXPECT_EQ(IdleDevices(Ranks(1), 8),
            "Slurm starts 1 rank on 8 devices of this node: 7 stay idle; if what is started starts "
            "ranks of its own, say how many there are in all: --world-size N");
  EXPECT_EQ(IdleDevices(Ranks(8), 8), "");
  EXPECT_EQ(IdleDevices(LauncherFacts(), 8), "");
}

}  // namespace
}  // namespace autobatch
