#include "orchestrator/dialect/loopback.h"

#include <gtest/gtest.h>

namespace autobatch {
namespace {

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
