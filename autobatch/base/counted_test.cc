#include "autobatch/base/counted.h"

#include <gtest/gtest.h>

namespace autobatch {
namespace {

TEST(CountedTest, OneAndMany_TakeTheirForms) {
  EXPECT_EQ(Counted(1, "device"), "1 device");
  EXPECT_EQ(Counted(0, "device"), "0 devices");
  EXPECT_EQ(Counted(1024, "rank"), "1,024 ranks");
  EXPECT_EQ(Counted(1, "allocator retry"), "1 allocator retry");
  EXPECT_EQ(Counted(4, "allocator retry"), "4 allocator retries");
  EXPECT_EQ(Counted(2, "process"), "2 processes");
}

}  // namespace
}  // namespace autobatch
