#include "autobatch/base/host_name.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

namespace autobatch {
namespace {

TEST(HostNameTest, ThisMachine_IsNamedAsByTheKernel) {
  utsname names = {};
  ASSERT_EQ(uname(&names), 0);
  EXPECT_EQ(HostName(), names.nodename);
}

}  // namespace
}  // namespace autobatch
