#include "orchestrator/nccl/nccl_facts.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

const NcclDescription kLibrary = {.version = "2.28.9"};

TEST(NcclFactsTest, Environment_GivesNcclsVariablesSorted) {
  const NcclSettings settings = {.environment = {"PATH=/bin", "NCCL_P2P_DISABLE=1",
                                                 "NCCL_ALGO=Ring", "XNCCL_A=1", "NCCL_BAD",
                                                 "NCCL_EMPTY="}};
  EXPECT_THAT(NcclFacts(settings, kLibrary),
              ElementsAre(Pair("NCCL_ALGO", "Ring"), Pair("NCCL_EMPTY", ""),
                          Pair("NCCL_P2P_DISABLE", "1"), Pair("nccl_version", "2.28.9")));
}

TEST(NcclFactsTest, WhatEachNodeHasForItself_IsLeftOut) {
  const NcclSettings settings = {.environment = {"NCCL_SOCKET_IFNAME=eth1", "NCCL_DEBUG=INFO",
                                                 "NCCL_DEBUG_FILE=/tmp/a", "NCCL_IB_HCA=mlx5_0",
                                                 "NCCL_HOSTID=n3", "NCCL_COMM_ID=10.0.0.1:7"}};
  EXPECT_THAT(NcclFacts(settings, kLibrary), ElementsAre(Pair("nccl_version", "2.28.9")));
}

TEST(NcclFactsTest, Files_ComeAfterTheEnvironmentAndTheUsersFirst) {
  const NcclSettings settings = {
      .environment = {"NCCL_ALGO=Tree"},
      .user_file = "# mine\nNCCL_ALGO=Ring\nNCCL_PROTO=LL # small\r\n\n=\nNCCL_\n",
      .system_file = "NCCL_PROTO=Simple\nNCCL_NTHREADS=64"};
  EXPECT_THAT(NcclFacts(settings, kLibrary),
              ElementsAre(Pair("NCCL_ALGO", "Tree"), Pair("NCCL_NTHREADS", "64"),
                          Pair("NCCL_PROTO", "LL"), Pair("nccl_version", "2.28.9")));
}

TEST(NcclFactsTest, NoLibrary_IsAFactToo) {
  EXPECT_THAT(NcclFacts({}, std::nullopt), ElementsAre(Pair("nccl_version", "none")));
}

TEST(NcclFactsTest, LongValue_IsCut) {
  const NcclSettings settings = {.environment = {"NCCL_X=" + std::string(100000, 'y')}};
  const auto facts = NcclFacts(settings, kLibrary);
  ASSERT_THAT(facts, SizeIs(2));
  EXPECT_THAT(facts[0].second, SizeIs(259));
}

TEST(NcclFactsTest, ThisProcess_HasAnEnvironment) {
  setenv("NCCL_TEST_OF_OURS", "7", 1);
  const auto facts = NcclFacts(ReadNcclSettings(), kLibrary);
  unsetenv("NCCL_TEST_OF_OURS");
  EXPECT_THAT(facts, testing::Contains(Pair("NCCL_TEST_OF_OURS", "7")));
}

TEST(InNcclFiles_UsersFile, GoesBeforeTheSystems) {
  const NcclSettings settings{
      .user_file = "# NCCL_SOCKET_IFNAME=no\n NCCL_SOCKET_IFNAME=eth0 # x\n",
      .system_file = "NCCL_SOCKET_IFNAME=eth1\nNCCL_IB_DISABLE=1"};
  EXPECT_EQ(InNcclFiles(settings, "NCCL_SOCKET_IFNAME"), "eth0");
  EXPECT_EQ(InNcclFiles(settings, "NCCL_IB_DISABLE"), "1");
  EXPECT_EQ(InNcclFiles(settings, "NCCL_SOCKET"), "");
}

}  // namespace
}  // namespace autobatch
