#include "orchestrator/net/interfaces.h"

#include <gmock/gmock.h>
#include <net/if.h>

#include <algorithm>

namespace autobatch {
namespace {

using ::testing::Contains;

TEST(SystemInterfaces_ThisHost, HasItsLoopback) {
  const auto interfaces = SystemInterfaces();
  ASSERT_TRUE(interfaces.ok()) << interfaces.status();
  const auto loopback = std::ranges::find_if(*interfaces, &Interface::loopback);
  ASSERT_NE(loopback, interfaces->end());
  EXPECT_NE(if_nametoindex(loopback->name.c_str()), 0u);
  EXPECT_TRUE(loopback->up);
  EXPECT_THAT(loopback->addresses, Contains("127.0.0.1"));
}

TEST(SystemInterfaces_EachName, IsThereOnce) {
  const auto interfaces = SystemInterfaces();
  ASSERT_TRUE(interfaces.ok()) << interfaces.status();
  for (size_t i = 1; i < interfaces->size(); ++i) {
    EXPECT_LT((*interfaces)[i - 1].name, (*interfaces)[i].name);
  }
}

TEST(IsInNetwork_EachFamily, HasItsOwn) {
  EXPECT_TRUE(*IsInNetwork("10.1.0.0/16", "10.1.255.3"));
  EXPECT_FALSE(*IsInNetwork("10.1.0.0/16", "10.2.0.3"));
  EXPECT_TRUE(*IsInNetwork("10.1.2.3/16", "10.1.9.9")) << "an address of it names it, too";
  EXPECT_TRUE(*IsInNetwork("0.0.0.0/0", "10.2.0.3"));
  EXPECT_FALSE(*IsInNetwork("0.0.0.0/0", "fd00::1"));
  EXPECT_TRUE(*IsInNetwork("fd00::/64", "fd00::5"));
  EXPECT_FALSE(*IsInNetwork("fd00::/64", "10.1.0.1"));
  for (const char* none : {"10.1.0.0/33", "10.1.0.0", "eth0/3", "/", "fd00::/129", "10.1.0.0/-1"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(IsInNetwork(none, "10.1.0.1").status())) << none;
  }
}

}  // namespace
}  // namespace autobatch
