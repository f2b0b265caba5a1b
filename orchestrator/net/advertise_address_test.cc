#include "orchestrator/net/advertise_address.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

TEST(AdvertiseAddressTest, UsersChoice_TakenAsItIs) {
  EXPECT_EQ(*AdvertiseAddress({.advertise = "gateway.example", .bind = "10.0.0.1"}),
            "gateway.example");
  EXPECT_EQ(*AdvertiseAddress({.advertise = "203.0.113.5"}), "203.0.113.5");
}

TEST(AdvertiseAddressTest, UsersChoiceIsLoopback_RefusedUnlessThePeerIsHere) {
  for (const char* loopback : {"127.0.0.1", "127.0.1.1", "::1", "localhost", "::ffff:127.0.0.1"}) {
    const absl::Status status =
        AdvertiseAddress({.advertise = loopback, .peer = "10.9.9.9"}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << loopback;
    EXPECT_THAT(status.message(), HasSubstr("--advertise-address"));
    EXPECT_FALSE(AdvertiseAddress({.advertise = loopback}).ok());
    EXPECT_EQ(*AdvertiseAddress({.advertise = loopback, .peer = "127.0.0.1"}), loopback);
  }
}

TEST(AdvertiseAddressTest, BoundToOneAddress_ThatOne) {
  EXPECT_EQ(*AdvertiseAddress({.bind = "10.1.2.3"}), "10.1.2.3");
  EXPECT_TRUE(absl::IsInvalidArgument(AdvertiseAddress({.bind = "127.0.0.1"}).status()));
  EXPECT_EQ(*AdvertiseAddress({.bind = "127.0.0.1", .peer = "127.0.0.1"}), "127.0.0.1");
}

TEST(AdvertiseAddressTest, BoundToAll_RouteToThePeer) {
  EXPECT_EQ(*AdvertiseAddress({.bind = "0.0.0.0", .peer = "127.0.0.1"}), "127.0.0.1");
  EXPECT_EQ(*AdvertiseAddress({.bind = "::", .peer = "::ffff:127.0.0.1"}), "127.0.0.1");
}

TEST(AdvertiseAddressTest, BoundToAll_NeverLoopbackForOthers) {
  for (const char* peer : {"", "198.51.100.7", "2001:db8::7"}) {
    const auto host = AdvertiseAddress({.bind = "::", .peer = peer});
    if (host.ok()) {
      EXPECT_FALSE(IsLoopbackHost(*host)) << *host;
    } else {
      // A sandbox without a network.
      EXPECT_TRUE(absl::IsNotFound(host.status())) << host.status();
      EXPECT_THAT(host.status().message(), HasSubstr("--advertise-address"));
    }
  }
}

TEST(AdvertiseAddressTest, BadText_InvalidArgument) {
  EXPECT_TRUE(absl::IsInvalidArgument(AdvertiseAddress({.bind = "eth0"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(AdvertiseAddress({.peer = "some name"}).status()));
}

}  // namespace
}  // namespace autobatch
