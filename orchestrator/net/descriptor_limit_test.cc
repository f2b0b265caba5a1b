#include "orchestrator/net/descriptor_limit.h"

#include <sys/resource.h>

#include "gtest/gtest.h"

namespace autobatch {
namespace {

TEST(DescriptorLimitTest, Raise_SoftLimitBelowHard_RaisedAndNeverLowered) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(RaiseDescriptorLimit(128), 128);
  EXPECT_EQ(RaiseDescriptorLimit(100), 128);
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, 128u);
}

TEST(DescriptorLimitTest, Raise_WantedAboveHard_HardLimit) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 64;
  limit.rlim_max = 200;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(RaiseDescriptorLimit(), 200);
}

}  // namespace
}  // namespace autobatch
