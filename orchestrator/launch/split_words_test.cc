#include "orchestrator/launch/split_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SplitWords_ShellText, IsSplitAsAShellDoes) {
  EXPECT_THAT(*SplitWords("python train.py  --batch {batch}\n"),
              ElementsAre("python", "train.py", "--batch", "{batch}"));
  EXPECT_THAT(*SplitWords(R"(a 'b c' "d \" e" f\ g ''  h'i'"j")"),
              ElementsAre("a", "b c", "d \" e", "f g", "", "hij"));
  EXPECT_THAT(*SplitWords(R"('$HOME \n' "\n" \\)"), ElementsAre("$HOME \\n", "\\n", "\\"));
  EXPECT_THAT(*SplitWords("  "), IsEmpty());
}

TEST(SplitWords_OpenQuote, IsRefused) {
  for (const char* text : {"'a", "a \"b", "a'"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(SplitWords(text).status())) << text;
  }
}

}  // namespace
}  // namespace autobatch
