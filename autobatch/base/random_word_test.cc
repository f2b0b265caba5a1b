#include "autobatch/base/random_word.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

namespace autobatch {
namespace {

TEST(RandomWordTest, Words_AreHexadecimalAndDiffer) {
  std::set<std::string> words;
  for (int i = 0; i < 1000; ++i) words.insert(RandomWord());
  EXPECT_EQ(words.size(), 1000u);
  EXPECT_THAT(words, ::testing::Each(::testing::MatchesRegex("[0-9a-f]{16}")));
}

}  // namespace
}  // namespace autobatch
