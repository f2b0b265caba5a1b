#include "autobatch/base/inherited_descriptor.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/status/status.h"

namespace autobatch {
namespace {

constexpr char kVariable[] = "AUTOBATCH_TEST_DESCRIPTOR";

TEST(InheritedDescriptorTest, Number_IsTheDescriptor) {
  setenv(kVariable, "7", 1);
  EXPECT_EQ(InheritedDescriptor(kVariable).value(), 7);
}

TEST(InheritedDescriptorTest, NoNumberOrNoVariable_FailedPrecondition) {
  for (const char* wrong : {"", "-1", "seven"}) {
    setenv(kVariable, wrong, 1);
    EXPECT_TRUE(absl::IsFailedPrecondition(InheritedDescriptor(kVariable).status())) << wrong;
  }
  unsetenv(kVariable);
  EXPECT_TRUE(absl::IsFailedPrecondition(InheritedDescriptor(kVariable).status()));
}

}  // namespace
}  // namespace autobatch
