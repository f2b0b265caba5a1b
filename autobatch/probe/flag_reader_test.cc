#include "autobatch/probe/flag_reader.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "autobatch/base/files.h"
#include "autobatch/probe/flag_group.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

FlagGroup Flags() {
  return FlagGroup("What there is")
      .Value("number", "N", "a number")
      .Value("out", "FILE|-", "a file")
      .Values("item", "TEXT", "once for each")
      .Switch("on", "a switch")
      .Switch("quiet,q", "no progress on stderr")
      .HelpAndVersion();
}

boost::program_options::variables_map Parsed(const std::vector<std::string>& arguments) {
  auto values = ParseFlags(Flags(), arguments, "no arguments");
  EXPECT_TRUE(values.ok()) << values.status();
  return *std::move(values);
}

TEST(FlagReaderTest, Options_AreReadAndThoseNotGivenKeepTheirDefault) {
  const auto values = Parsed({"--number", "7", "--item=a", "--item", "b", "-q"});
  FlagReader read(values);
  std::optional<int64_t> number;
  read.Read("number", number, WholeNumberFrom(7));
  EXPECT_EQ(number, 7);
  EXPECT_THAT(read.Texts("item"), ElementsAre("a", "b"));
  EXPECT_TRUE(read.Switch("quiet"));
  EXPECT_FALSE(read.Switch("on"));
  EXPECT_TRUE(read.Given("number"));
  EXPECT_FALSE(read.Given("out"));
  std::string out = "default";
  read.Text("out", out);
  EXPECT_EQ(out, "default");
  read.Path("out", out);
  EXPECT_EQ(out, ResolveUserPath("default"));
  EXPECT_TRUE(read.status().ok()) << read.status();
}

TEST(FlagReaderTest, Path_MayBeStdout) {
  const auto values = Parsed({"--out", "-"});
  FlagReader read(values);
  std::string out;
  read.Path("out", out);
  EXPECT_EQ(out, "-");
}

TEST(FlagReaderTest, Output_IsAPlaceThatCanBeWritten) {
  const auto values = Parsed({"--out", "-"});
  FlagReader read(values);
  std::string out;
  read.Output("out", out);
  EXPECT_EQ(out, "-");
  EXPECT_TRUE(read.status().ok()) << read.status();

  const auto lost = Parsed({"--out", "no/such"});
  FlagReader read_lost(lost);
  read_lost.Output("out", out);
  EXPECT_EQ(read_lost.status(),
            absl::InvalidArgumentError("--out: cannot write no/such: there is no folder no"));
}

TEST(FlagReaderTest, FirstError_IsKeptWithItsOption) {
  const auto values = Parsed({"--number", "6", "--out", "x"});
  FlagReader read(values);
  std::optional<int64_t> number;
  read.Read("number", number, WholeNumberFrom(7));
  read.Read("out", number, WholeNumber);
  EXPECT_EQ(read.status(),
            absl::InvalidArgumentError("--number: '6' is not a whole number from 7 up"));
  EXPECT_EQ(number, std::nullopt);
}

TEST(FlagReaderTest, TimeSpan_HasAUnitOrIsSecondsAndIsNotBelowZero) {
  EXPECT_EQ(*TimeSpan("5m"), absl::Minutes(5));
  EXPECT_EQ(*TimeSpan("2.5"), absl::Seconds(2.5));
  EXPECT_EQ(*TimeSpan("0"), absl::ZeroDuration());
  for (const char* wrong : {"soon", "-1", "-5m", ""}) {
    EXPECT_TRUE(absl::IsInvalidArgument(TimeSpan(wrong).status())) << wrong;
  }
}

TEST(FlagReaderTest, HelpOrVersion_IsWhatWasAskedFor) {
  const auto help = [] { return std::string("the help"); };
  EXPECT_EQ(HelpOrVersion(Parsed({}), help), "");
  EXPECT_EQ(HelpOrVersion(Parsed({"-h"}), help), "the help");
  EXPECT_THAT(HelpOrVersion(Parsed({"--version"}), help), HasSubstr("autobatch "));
}

TEST(FlagGroupTest, Help_ListsTheOptionsInOrder) {
  std::ostringstream text;
  text << Flags();
  EXPECT_THAT(text.str(), testing::MatchesRegex("What there is:\n"
                                                "  --number N .*a number\n"
                                                "  --out FILE.- .*a file\n"
                                                "  --item TEXT .*once for each\n"
                                                "  --on .*a switch\n"
                                                "  -q .*no progress on stderr\n"
                                                "  -h .*this text\n"
                                                "  --version .*the version\n"));
}

}  // namespace
}  // namespace autobatch
