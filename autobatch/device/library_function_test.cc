#include "autobatch/device/library_function.h"

#include <gtest/gtest.h>

#include <utility>

namespace autobatch {
namespace {

enum Answer { kUpper = 'A', kNotThere = -7 };

template <typename... Arguments>
using Function = LibraryFunction<Answer, kNotThere, Arguments...>;

class LibraryFunctionTest : public testing::Test {
 protected:
  // The C library's, which this process has.
  const DynamicLibrary library_ = DynamicLibrary::OfProcess();
};

TEST_F(LibraryFunctionTest, Present_AnswersWithItsCode) {
  const Function<int> upper = {library_, "toupper"};
  EXPECT_TRUE(upper.found());
  EXPECT_NE(upper.address(), nullptr);
  EXPECT_EQ(upper('a'), kUpper);
}

TEST_F(LibraryFunctionTest, Missing_AnswersThatItIs) {
  const Function<int> none = {library_, "no_such_function", "no_older_one"};
  EXPECT_FALSE(none.found());
  EXPECT_EQ(none.address(), nullptr);
  EXPECT_EQ(none('a'), kNotThere);
}

TEST_F(LibraryFunctionTest, Text_IsAnsweredAsItIs) {
  const LibraryFunction<const char*, nullptr, const char*, int> find = {library_, "strchr"};
  EXPECT_STREQ(find("a b", ' '), " b");
}

TEST_F(LibraryFunctionTest, OlderName_StandsInWhereTheNewOneIsMissing) {
  EXPECT_EQ(Function<int>(library_, "no_such_function", "toupper")('a'), kUpper);
  EXPECT_EQ(Function<int>(library_, "toupper", "tolower")('a'), kUpper);
}

}  // namespace
}  // namespace autobatch
