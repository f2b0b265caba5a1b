#include "orchestrator/launch/interface_choice.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<Interface>& Interfaces() {
  static const auto& interfaces = *new std::vector<Interface>{
      {.name = "docker0", .up = true, .addresses = {"172.17.0.1"}},
      {.name = "eth1", .up = true, .addresses = {"10.1.2.3", "fd00:1::3", "fe80::3"}},
      {.name = "eth10", .up = true, .addresses = {"10.2.2.3"}},
      {.name = "ib0", .up = false, .addresses = {"10.3.2.3"}},
      {.name = "lo", .up = true, .loopback = true, .addresses = {"127.0.0.1", "::1"}},
      {.name = "tun0", .up = true}};
  return interfaces;
}

// "NAME=VALUE …", or the error.
std::string Chosen(absl::string_view choice, const Environment& environment = {},
                   absl::string_view nccl_file = "", bool alone = false) {
  const auto variables = InterfaceVariables(choice, Interfaces(), alone, environment, nccl_file);
  if (!variables.ok()) return std::string(variables.status().message());
  std::string text;
  for (const WorkerVariable& variable : *variables) {
    absl::StrAppend(&text, variable.name, "=", variable.value, " ");
  }
  return text;
}

TEST(InterfaceVariables_OneChoice, IsWrittenAsEachLibraryWantsIt) {
  EXPECT_EQ(Chosen("eth1"),
            "NCCL_SOCKET_IFNAME==eth1 GLOO_SOCKET_IFNAME=eth1 TP_SOCKET_IFNAME=eth1 ");
  EXPECT_EQ(Chosen("eth10,eth1"),
            "NCCL_SOCKET_IFNAME==eth10,eth1 GLOO_SOCKET_IFNAME=eth10,eth1 "
            "TP_SOCKET_IFNAME=eth10 ");
}

TEST(InterfaceVariables_Network, IsTheInterfaceWithAnAddressInIt) {
  EXPECT_THAT(Chosen("10.1.0.0/16"), HasSubstr("NCCL_SOCKET_IFNAME==eth1 "));
  EXPECT_THAT(Chosen("10.2.2.3/32"), HasSubstr("NCCL_SOCKET_IFNAME==eth10 "));
  EXPECT_THAT(Chosen("fd00:1::/64"), HasSubstr("NCCL_SOCKET_IFNAME==eth1 "));
  EXPECT_THAT(Chosen("10.9.0.0/16"), AllOf(HasSubstr("no interface of this host has an address"),
                                           HasSubstr("eth1 (10.1.2.3), eth10 (10.2.2.3)")));
  EXPECT_THAT(Chosen("10.1.0.0/99"), HasSubstr("no network such as"));
  EXPECT_THAT(Chosen("eth1/24"), HasSubstr("no network such as"));
}

TEST(InterfaceVariables_WhatCannotBeUsed, IsRefusedWithWhatCan) {
  EXPECT_THAT(Chosen("eth0"), AllOf(HasSubstr("--interface eth0: there is no such interface"),
                                    HasSubstr("docker0 (172.17.0.1), eth1 (10.1.2.3)"),
                                    HasSubstr("ib0 (down)"), HasSubstr("tun0 (no address)")));
  EXPECT_THAT(Chosen("eth"), HasSubstr("no such interface"));
  EXPECT_THAT(Chosen("eth1,"), HasSubstr("no such interface"));
  EXPECT_THAT(Chosen("a\x1b"), HasSubstr("a\\033"));
  EXPECT_THAT(Chosen("ib0"), HasSubstr("ib0 is down"));
  EXPECT_THAT(Chosen("10.3.0.0/16"), HasSubstr("ib0 is down"));
  EXPECT_THAT(Chosen("tun0"), HasSubstr("tun0 has no address"));
  EXPECT_THAT(Chosen("eth1,10.1.0.0/16"), HasSubstr("eth1 is chosen twice"));
  EXPECT_THAT(Chosen("lo"), HasSubstr("lo leads nowhere but to this host"));
  EXPECT_THAT(Chosen("lo", {}, "", true), HasSubstr("GLOO_SOCKET_IFNAME=lo"));
}

TEST(InterfaceVariables_WhatTheUserSetToTheSame, IsKept) {
  EXPECT_THAT(Chosen("eth10", {{"NCCL_SOCKET_IFNAME", "eth10"}}),
              HasSubstr("NCCL_SOCKET_IFNAME=eth10 GLOO"));
  EXPECT_THAT(Chosen("eth1,eth10", {{"NCCL_SOCKET_IFNAME", "eth"}}),
              HasSubstr("NCCL_SOCKET_IFNAME=eth GLOO"));
  EXPECT_THAT(Chosen("eth1", {{"NCCL_SOCKET_IFNAME", "^=docker0,eth10,ib0,lo,tun0"}}),
              HasSubstr("NCCL_SOCKET_IFNAME=^=docker0"));
  EXPECT_THAT(Chosen("eth1,eth10", {{"GLOO_SOCKET_IFNAME", "eth10,eth1"}}),
              HasSubstr("GLOO_SOCKET_IFNAME=eth10,eth1 "));
  EXPECT_THAT(Chosen("eth1", {{"TP_SOCKET_IFNAME", ""}}), HasSubstr("TP_SOCKET_IFNAME=eth1 "));
  EXPECT_THAT(Chosen("eth1", {}, "=eth1"), HasSubstr("NCCL_SOCKET_IFNAME==eth1 "));
}

TEST(InterfaceVariables_WhatTheUserSetOtherwise, IsNamedAndNotOverridden) {
  EXPECT_EQ(Chosen("eth1", {{"NCCL_SOCKET_IFNAME", "^docker0"}}),
            "--interface eth1: and NCCL_SOCKET_IFNAME='^docker0' contradict; leave one of them "
            "out");
  // The beginning of a name is another one's, too.
  EXPECT_THAT(Chosen("eth1", {{"NCCL_SOCKET_IFNAME", "eth1"}}), HasSubstr("contradict"));
  EXPECT_THAT(Chosen("eth1", {{"GLOO_SOCKET_IFNAME", "eth10"}}),
              HasSubstr("GLOO_SOCKET_IFNAME='eth10' contradict"));
  EXPECT_THAT(Chosen("eth1", {{"TP_SOCKET_IFNAME", "eth10"}}), HasSubstr("TP_SOCKET_IFNAME"));
  EXPECT_THAT(Chosen("eth1", {}, "eth10"),
              HasSubstr("NCCL's configuration file with NCCL_SOCKET_IFNAME='eth10'"));
}

}  // namespace
}  // namespace autobatch
