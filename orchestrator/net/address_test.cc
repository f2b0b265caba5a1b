#include "orchestrator/net/address.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

TEST(AddressTest, ParseHostPort_ValidText_HostAndPort) {
  const std::vector<std::pair<std::string, HostPort>> cases = {
      {"node7", {"node7", 29400}},       {"node_7.cluster.local:1", {"node_7.cluster.local", 1}},
      {"10.0.0.3", {"10.0.0.3", 29400}}, {"10.0.0.3:65535", {"10.0.0.3", 65535}},
      {"fd00::3", {"fd00::3", 29400}},   {"::1", {"::1", 29400}},
      {"[::1]", {"::1", 29400}},         {"[fe80::3%eth0]:29500", {"fe80::3%eth0", 29500}},
      {"node7:0", {"node7", 0}},
  };
  for (const auto& [text, expected] : cases) {
    const auto parsed = ParseHostPort(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, expected) << text;
    EXPECT_EQ(*ParseHostPort(parsed->ToString()), expected) << parsed->ToString();
  }
}

TEST(AddressTest, ParseHostPort_BadText_InvalidArgumentThatNamesIt) {
  for (const std::string text :
       {"", ":", ":29400", "node:", "node:65536", "node:-1", "node: 1", "node:x", "[::1", "[::1]x",
        "[node]:1", "[]:1", "a b", "node\n:1", "tcp://node:1", "node:000001"}) {
    const absl::Status status = ParseHostPort(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_EQ(status.message().find('\n'), absl::string_view::npos);
  }
  EXPECT_FALSE(ParseHostPort(std::string(254, 'a')).ok());
  EXPECT_THAT(ParseHostPort("a:b").status().message(), HasSubstr("'b' is no port"));
}

TEST(AddressTest, ParsePortRange_ValidText_Range) {
  EXPECT_EQ(*ParsePortRange("29400"), (PortRange{29400, 29400}));
  EXPECT_EQ(*ParsePortRange("29400-29499"), (PortRange{29400, 29499}));
  EXPECT_EQ(*ParsePortRange("0"), (PortRange{0, 0}));
}

TEST(AddressTest, ParsePortRange_BadText_InvalidArgument) {
  for (const std::string text : {"", "-", "1-", "-1", "2-1", "0-5", "1-2-3", "1-65536", "a"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParsePortRange(text).status())) << text;
  }
}

}  // namespace
}  // namespace autobatch
