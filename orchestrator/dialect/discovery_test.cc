#include "orchestrator/dialect/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autobatch {
namespace {

using ::testing::HasSubstr;

LauncherFacts Slurm() {
  return {.dialect = Dialect::kSlurm,
          .node_rank = 1,
          .node_count = 2,
          .node_name = "n2",
          .nodes = {"n1", "n2"}};
}

LauncherFacts Torchrun(std::string master, int64_t nodes) {
  return {.dialect = Dialect::kTorchrun,
          .node_rank = 0,
          .node_count = nodes,
          .master_address = std::move(master),
          .master_port = 29500};
}

std::string Refusal(const DiscoveryRequest& request, const LauncherFacts& facts) {
  const auto discovered = DiscoverCoordinator(request, facts);
  EXPECT_TRUE(absl::IsInvalidArgument(discovered.status())) << discovered.status();
  return std::string(discovered.status().message());
}

TEST(DiscoverCoordinator_AddressGiven, ComesFirst) {
  const auto discovered = DiscoverCoordinator({.given_host = "head"}, Torchrun("n1", 2));
  ASSERT_TRUE(discovered.ok()) << discovered.status();
  EXPECT_EQ(discovered->host, "head");
  EXPECT_EQ(discovered->source, HostSource::kGiven);
}

TEST(DiscoverCoordinator_LaunchersRankZero, ComesBeforeTheNodeList) {
  LauncherFacts facts = Torchrun("n1", 2);
  facts.nodes = {"n7", "n8"};
  const auto discovered = DiscoverCoordinator({}, facts);
  ASSERT_TRUE(discovered.ok()) << discovered.status();
  EXPECT_EQ(discovered->host, "n1");
  EXPECT_EQ(discovered->source, HostSource::kLauncherRankZero);
  EXPECT_TRUE(discovered->here);
}

TEST(DiscoverCoordinator_NodeListOnly, TakesTheFirstHost) {
  const auto discovered = DiscoverCoordinator({}, Slurm());
  ASSERT_TRUE(discovered.ok()) << discovered.status();
  EXPECT_EQ(discovered->host, "n1");
  EXPECT_EQ(discovered->source, HostSource::kFirstHostOfStep);
  EXPECT_FALSE(discovered->here);
}

TEST(DiscoverCoordinator_OnlyNode, IsHere) {
  for (const LauncherFacts& facts :
       {Torchrun("127.0.0.1", 1),
        LauncherFacts{
            .dialect = Dialect::kSlurm, .node_count = 1, .node_name = "n1", .nodes = {"n1"}}}) {
    const auto discovered = DiscoverCoordinator({}, facts);
    ASSERT_TRUE(discovered.ok()) << discovered.status();
    EXPECT_EQ(discovered->host, "127.0.0.1");
    EXPECT_EQ(discovered->source, HostSource::kThisNode);
  }
  EXPECT_TRUE(DiscoverCoordinator({.node_count = 1}, {}).ok());
  EXPECT_TRUE(DiscoverCoordinator({.given_host = "localhost", .node_count = 1}, {}).ok());
}

TEST(DiscoverCoordinator_LoopbackForOthers, IsRefusedAtOnce) {
  EXPECT_THAT(Refusal({.given_host = "localhost"}, Slurm()),
              HasSubstr("'localhost' means each node itself, and 2 nodes are to connect to it"));
  EXPECT_THAT(Refusal({.given_host = "127.0.1.1", .node_count = 3}, {}), HasSubstr("3 nodes"));
  EXPECT_THAT(Refusal({}, Torchrun("127.0.0.1", 2)),
              HasSubstr("give a name or address that the other nodes can reach"));
  LauncherFacts elastic = Torchrun("localhost", 1);
  elastic.max_nodes = 4;
  EXPECT_THAT(Refusal({}, elastic), HasSubstr("4 nodes"));
}

TEST(DiscoverCoordinator_NothingSaysWhere, IsRefusedAtOnce) {
  EXPECT_THAT(Refusal({}, {}), HasSubstr("no coordinator: no launcher has left its variables here; "
                                         "give --coordinator HOST:PORT"));
  const LauncherFacts mpi{.dialect = Dialect::kOpenMpi, .rank = 1, .world_size = 4};
  EXPECT_THAT(Refusal({.node_count = 2}, mpi), HasSubstr("Open MPI"));
}

TEST(CheckAdvertised_LoopbackOffHost, IsRefused) {
  EXPECT_TRUE(CheckAdvertised("127.0.0.1", 1).ok());
  EXPECT_TRUE(CheckAdvertised("n1", 8).ok());
  EXPECT_FALSE(CheckAdvertised("127.0.1.1", 2).ok());
  EXPECT_FALSE(CheckAdvertised("::1", 2).ok());
}

}  // namespace
}  // namespace autobatch
