#include "autobatch/types/enum_names.h"

#include <gmock/gmock.h>

#include "autobatch/types/failure.h"
#include "autobatch/types/report.h"
#include "autobatch/types/workload.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

TEST(EnumNameTest, EveryFailureKind_ReadsBackAsItself) {
  for (const std::string& name : EnumNames<FailureKind>()) {
    const auto kind = ParseEnum<FailureKind>("failure", name);
    ASSERT_TRUE(kind.ok()) << kind.status();
    EXPECT_EQ(EnumName(*kind), name);
  }
  EXPECT_EQ(EnumName(FailureKind::kSuspectedOutOfMemory), "suspected_out_of_memory");
}

TEST(ParseEnumTest, Dashes_AreUnderscores) {
  EXPECT_EQ(*ParseEnum<Precision>("precision", "amp-fp16"), Precision::kAmpFp16);
}

TEST(ParseEnumTest, Typo_NamesTheNearest) {
  const auto precision = ParseEnum<Precision>("precision", "fp31");
  EXPECT_THAT(std::string(precision.status().message()), HasSubstr("did you mean 'fp32'"));
}

}  // namespace
}  // namespace autobatch
