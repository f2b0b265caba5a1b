#include "autobatch/types/command_template.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Fill(const std::string& argument) {
  const PlaceholderValues values = {.batch = 64,
                                    .accumulation = 2,
                                    .global_batch = 256,
                                    .device = "cuda:0",
                                    .seed = 7,
                                    .steps = 8,
                                    .output_dir = "/tmp/a b"};
  return FillPlaceholders(std::vector<std::string>{argument}, values)[0];
}

TEST(CommandTemplateTest, EveryPlaceholder_IsFilled) {
  EXPECT_EQ(Fill("{batch},{micro_batch},{accumulation},{global_batch},{seed},{steps}"),
            "64,64,2,256,7,8");
  EXPECT_EQ(Fill("--dev={device}"), "--dev=cuda:0");
  EXPECT_EQ(Fill("{output_dir}/x"), "/tmp/a b/x");
}

TEST(CommandTemplateTest, Arguments_AreNeitherSplitNorJoined) {
  const std::vector<std::string> command = {"python", "my script.py", "--name=\"a b\" {batch}", "",
                                            "{output_dir}"};
  EXPECT_THAT(FillPlaceholders(command, {.batch = 3, .output_dir = "/o p"}),
              ElementsAre("python", "my script.py", "--name=\"a b\" 3", "", "/o p"));
}

TEST(CommandTemplateTest, WhatIsNoPlaceholder_StaysAsItIs) {
  for (const char* text : {"{\"a\": {}}", "{}", "{", "}", "{a,b}", "${batch}", "{Batch}",
                           "{ batch }", "{batch", "{1}", "{{", "{{}}"}) {
    EXPECT_EQ(Fill(text), text);
    EXPECT_TRUE(CheckPlaceholders(std::vector<std::string>{text}).ok()) << text;
  }
}

TEST(CommandTemplateTest, DoubledBraces_AreTheCharactersThemselves) {
  EXPECT_EQ(Fill("{{batch}}"), "{batch}");
  EXPECT_EQ(Fill("print(f'{{x}} {batch}')"), "print(f'{x} 64')");
  EXPECT_TRUE(CheckPlaceholders(std::vector<std::string>{"{{nonsense}}"}).ok());
  EXPECT_FALSE(UsesPlaceholder(std::vector<std::string>{"{{batch}}"}, "batch"));
}

TEST(CommandTemplateTest, UnknownPlaceholder_NamesTheNearestAndTheWayAround) {
  const absl::Status status =
      CheckPlaceholders(std::vector<std::string>{"python", "--batch={bacth}"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const char* part : {"'{bacth}'", "did you mean '{batch}'", "{{bacth}}"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
}

TEST(CommandTemplateTest, UsesPlaceholder_FindsItInAnyArgumentAndBothSpellings) {
  EXPECT_TRUE(UsesPlaceholder(std::vector<std::string>{"a", "b={batch}"}, "batch"));
  EXPECT_TRUE(UsesPlaceholder(std::vector<std::string>{"{micro_batch}"}, "batch"));
  EXPECT_FALSE(UsesPlaceholder(std::vector<std::string>{"{global_batch}"}, "batch"));
  EXPECT_TRUE(UsesPlaceholder(std::vector<std::string>{"{steps}"}, "steps"));
}

}  // namespace
}  // namespace autobatch
