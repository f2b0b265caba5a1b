#include "autobatch/types/tensor_spec.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string ErrorOf(absl::string_view text) {
  return std::string(ParseTensorSpec(text).status().message());
}

TEST(ParseTensorSpecTest, DtypeAndShape_AreRead) {
  const auto spec = ParseTensorSpec("float32:3x224x224");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->dtype, "float32");
  EXPECT_THAT(spec->shape, ElementsAre(3, 224, 224));
}

TEST(ParseTensorSpecTest, Range_IsHalfOpen) {
  const auto spec = ParseTensorSpec("int64:128:-3..50257");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(spec->shape, ElementsAre(128));
  EXPECT_EQ(spec->low, -3);
  EXPECT_EQ(spec->high, 50257);
}

TEST(ParseTensorSpecTest, NoShape_IsOneScalarASample) {
  const auto spec = ParseTensorSpec("int64::0..1000");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(spec->shape, IsEmpty());
  EXPECT_EQ(spec->high, 1000);
  EXPECT_THAT(ParseTensorSpec("bool")->shape, IsEmpty());
}

TEST(ParseTensorSpecTest, WrongText_NamesThePartAndWhatWouldBeRight) {
  EXPECT_THAT(ErrorOf("flot32:3"), HasSubstr("did you mean 'float32'"));
  EXPECT_THAT(ErrorOf("flot32:3:0..1"), HasSubstr("did you mean 'float32'"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("no dtype"));
  EXPECT_THAT(ErrorOf("float32:3,224"), HasSubstr("'3,224' is not a size"));
  EXPECT_THAT(ErrorOf("float32:3x"), HasSubstr("'' is not a size"));
  EXPECT_THAT(ErrorOf("float32:3x0x4"), HasSubstr("at least 1"));
  EXPECT_THAT(ErrorOf("float32:-1"), HasSubstr("at least 1"));
  EXPECT_THAT(ErrorOf("float32:3:0..1"), HasSubstr("leave ':0..1' out"));
  EXPECT_THAT(ErrorOf("int64:3:5"), HasSubstr("'5' is not a range"));
  EXPECT_THAT(ErrorOf("int64:3:5..5"), HasSubstr("is empty"));
  EXPECT_THAT(ErrorOf("int64:3:0..5:9"), HasSubstr("more than three parts"));
  EXPECT_THAT(ErrorOf("int32:3:0..4000000000"), HasSubstr("use int64"));
  EXPECT_THAT(ErrorOf("float32:99999999999x99999999999"), HasSubstr("2^40"));
  EXPECT_THAT(ErrorOf("float32:99999999999999999999"), HasSubstr("is not a size"));
}

TEST(ParseTensorSpecTest, Error_QuotesTheWholeText) {
  EXPECT_THAT(ErrorOf("int64:3:5"), HasSubstr("tensor 'int64:3:5'"));
}

}  // namespace
}  // namespace autobatch
