#include "orchestrator/dialect/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autobatch {
namespace {

using ::testing::HasSubstr;

TEST(ParseEndpoint_BothFamilies, SplitsHostAndPort) {
  const struct {
    const char* text;
    Endpoint endpoint;
  } cases[] = {
      {"node1", {"node1", 7}},
      {"node1:29400", {"node1", 29400}},
      {"10.0.0.1:1", {"10.0.0.1", 1}},
      {"fd00::1", {"fd00::1", 7}},
      {"[fd00::1]", {"fd00::1", 7}},
      {"[fe80::1%eth0]:65535", {"fe80::1%eth0", 65535}},
      {"job-worker-0.ns.svc:23456", {"job-worker-0.ns.svc", 23456}},
  };
  for (const auto& [text, expected] : cases) {
    const absl::StatusOr<Endpoint> endpoint = ParseEndpoint(text, 7);
    ASSERT_TRUE(endpoint.ok()) << text << ": " << endpoint.status();
    EXPECT_EQ(*endpoint, expected) << text;
    EXPECT_EQ(*ParseEndpoint(EndpointText(*endpoint), 9), expected) << text;
  }
}

TEST(ParseEndpoint_MalformedText, SaysWhatWouldBeRight) {
  for (const char* text :
       {"", ":1", "a:", "a:0", "a:65536", "a:b", "a:-1", "[fd00::1", "[fd00::1]x", "[fd00::1]x:1",
        "[name]:1", "a b:1", "a/b", "-x", "a\n:1"}) {
    const absl::StatusOr<Endpoint> endpoint = ParseEndpoint(text, 7);
    ASSERT_TRUE(absl::IsInvalidArgument(endpoint.status())) << text;
    EXPECT_THAT(std::string(endpoint.status().message()), HasSubstr("right would be node1:29400"));
  }
}

TEST(IsLoopback_EverySpelling, IsSeen) {
  for (const char* host :
       {"localhost", "LOCALHOST", "localhost.", "localhost.localdomain", "localhost4",
        "localhost6.localdomain6", "a.localhost", "ip6-localhost", "127.0.0.1", "127.0.1.1",
        "127.255.255.254", "::1", "0:0:0:0:0:0:0:1", "::1%lo", "::ffff:127.0.0.1", "0.0.0.0",
        "::", "0000:0000:0000:0000:0000:0000:0000:0001"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
}

TEST(IsLoopback_OtherHosts, AreNone) {
  for (const char* host :
       {"node1", "10.0.0.1", "128.0.0.1", "::2", "::11", "1::1", "1::", "fe80::1",
        "::ffff:10.0.0.1", "127.example.org", "mylocalhost", "::1:1", "0::10"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace autobatch
