#include "orchestrator/launch/launcher_words.h"

#include <gmock/gmock.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace autobatch {
namespace {

constexpr LauncherOption kKnown[] = {
    {"--nnodes"}, {"--no-python", false}, {"--no-color", false}, {"-t"}, {"-m", false}};

std::vector<std::string> Words(absl::string_view text) {
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

// "NAME=VALUE …" and what is left.
std::string Read(absl::string_view text) {
  const std::vector<std::string> words = Words(text);
  std::string seen;
  const auto program = ReadLauncherOptions(
      words, 1, kKnown, [&seen](absl::string_view name, absl::string_view value) {
        absl::StrAppend(&seen, name, "=", value, " ");
        return absl::OkStatus();
      });
  return absl::StrCat(seen, "| ", *program < words.size() ? words[*program] : "nothing");
}

TEST(ReadLauncherOptions_EverySpelling, IsTheOption) {
  EXPECT_EQ(Read("x --nnodes 2 --no_python t.py --nnodes 3"), "--nnodes=2 --no-python= | t.py");
  EXPECT_EQ(Read("x --nnodes=2 -t3 -m -- t.py"), "--nnodes=2 -t=3 -m= | t.py");
  EXPECT_EQ(Read("x --nn 2 --no-p t.py"), "--nnodes=2 --no-python= | t.py");
}

TEST(ReadLauncherOptions_WhatIsNotKnown_HasAValue, AndSoHasAnAmbiguousName) {
  EXPECT_EQ(Read("x --new 2 t.py"), "--new=2 | t.py");
  EXPECT_EQ(Read("x --no 2 t.py"), "--no=2 | t.py");
}

TEST(ReadLauncherOptions_WithoutAProgram, EndsBehindTheLastWord) {
  EXPECT_EQ(Read("x --nnodes"), "--nnodes= | nothing");
  EXPECT_EQ(Read("x --"), "| nothing");
  EXPECT_EQ(Read("x"), "| nothing");
}

TEST(ModuleOf_PythonsOwnOptions, ArePassedOver) {
  EXPECT_EQ(ModuleOf(Words("/usr/bin/python3 -u -W ignore -m a.b c")).name, "a.b");
  EXPECT_EQ(ModuleOf(Words("python -um a.b c")).words, 3u);
  EXPECT_EQ(ModuleOf(Words("python -ma.b")).words, 2u);
  for (const char* text : {"python t.py -m a", "python -c x -m a", "bash -m a", "python -m", ""}) {
    EXPECT_EQ(ModuleOf(Words(text)).name, "") << text;
  }
}

}  // namespace
}  // namespace autobatch
