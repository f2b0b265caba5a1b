#include "orchestrator/launch/command_prefix.h"

#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_split.h"

namespace autobatch {
namespace {

size_t Words(absl::string_view text, Environment& environment) {
  return WordsOfPrefix(std::vector<std::string>(absl::StrSplit(text, ' ', absl::SkipEmpty())),
                       environment);
}

TEST(WordsOfPrefix_ProgramsThatPrepare, AreCounted) {
  const struct {
    const char* text;
    size_t words;
  } cases[] = {
      {"torchrun t.py", 0},
      {"env torchrun", 1},
      {"/usr/bin/env A=1 B= torchrun t.py C=2", 3},
      {"env -i -u X -C /tmp A=1 torchrun", 7},
      {"env -- A=1 torchrun", 3},
      {"nohup nice -n 5 setsid --wait env A=1 torchrun", 8},
      {"nice --adjustment=5 torchrun", 2},
      {"env A=1", 0},
      {"env", 0},
      {"", 0},
      {"env -S torchrun", 0},
      {"environment torchrun", 0},
      {"srun torchrun", 0},
  };
  for (const auto& [text, words] : cases) {
    Environment environment;
    EXPECT_EQ(Words(text, environment), words) << text;
  }
}

TEST(WordsOfPrefix_VariablesOfEnv, AreSetAndTakenAway) {
  Environment environment = {{"A", "1"}, {"B", "2"}};
  Words("env -u A C=x=y B=3 torchrun", environment);
  EXPECT_EQ(environment, (Environment{{"B", "3"}, {"C", "x=y"}}));
  Words("env - D=4 torchrun", environment);
  EXPECT_EQ(environment, (Environment{{"D", "4"}}));
}

}  // namespace
}  // namespace autobatch
