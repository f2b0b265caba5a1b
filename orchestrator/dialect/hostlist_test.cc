#include "orchestrator/dialect/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Expand(absl::string_view text) {
  const absl::StatusOr<std::vector<std::string>> hosts = ExpandHostlist(text);
  EXPECT_TRUE(hosts.ok()) << text << ": " << hosts.status();
  return hosts.value_or(std::vector<std::string>());
}

TEST(ExpandHostlist_NamesAndRanges, AreExpandedInOrder) {
  EXPECT_THAT(Expand("a,b,c[1-2]"), ElementsAre("a", "b", "c1", "c2"));
  EXPECT_THAT(Expand("n[3,1-2]"), ElementsAre("n3", "n1", "n2"));
  EXPECT_THAT(Expand("[1-3]"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(Expand("n-[1-2]"), ElementsAre("n-1", "n-2"));
  EXPECT_THAT(Expand("1-3"), ElementsAre("1-3"));
}

TEST(ExpandHostlist_ZeroPadding, KeepsTheWidthOfTheRangesStart) {
  EXPECT_THAT(Expand("n[08-11]"), ElementsAre("n08", "n09", "n10", "n11"));
  EXPECT_THAT(Expand("n[098-101,5,007]"),
              ElementsAre("n098", "n099", "n100", "n101", "n5", "n007"));
  EXPECT_THAT(Expand("n[9-011]"), ElementsAre("n9", "n10", "n11"));
  EXPECT_THAT(Expand("n[0-1]"), ElementsAre("n0", "n1"));
}

TEST(ExpandHostlist_SeveralGroups, MultiplyWithTheLastFastest) {
  EXPECT_THAT(Expand("n[01-02,5]-ib[0-1]"),
              ElementsAre("n01-ib0", "n01-ib1", "n02-ib0", "n02-ib1", "n5-ib0", "n5-ib1"));
  EXPECT_THAT(Expand("r[1-2]n[1-2].cluster,x"),
              ElementsAre("r1n1.cluster", "r1n2.cluster", "r2n1.cluster", "r2n2.cluster", "x"));
  EXPECT_THAT(Expand("n[0-1][2-3]"), ElementsAre("n02", "n03", "n12", "n13"));
}

TEST(ExpandHostlist_RepetitionsAndSpaces, AreKeptAndSkipped) {
  EXPECT_THAT(Expand("n[1,1]"), ElementsAre("n1", "n1"));
  EXPECT_THAT(Expand(" ,a,, b\n"), ElementsAre("a", "b"));
  EXPECT_THAT(Expand(""), IsEmpty());
}

TEST(ExpandHostlist_MalformedText, NamesThePlace) {
  const struct {
    const char* text;
    const char* what;
  } cases[] = {
      {"n[1-2,[4-5]]", "a bracket inside a bracket at character 7"},
      {"n[1-3", "this bracket is not closed at character 2"},
      {"n1]", "a bracket is closed that was not opened at character 3"},
      {"n[]", "no number or ascending range at character 3"},
      {"n[3-1]", "no number or ascending range"},
      {"n[1,,2]", "at character 5"},
      {"n[a-b]", "no number"},
      {"n[1-]", "no number"},
      {"n[-2]", "no number"},
      {"n[+1-2]", "no number"},
      {"n[ 1-2 ]", "no number"},
      {"n[1-2:3]", "no number"},
      {"n[99999999999999999999]", "no number"},
  };
  for (const auto& [text, what] : cases) {
    const auto hosts = ExpandHostlist(text);
    EXPECT_EQ(hosts.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(hosts.status().message()), HasSubstr(what)) << text;
  }
}

TEST(ExpandHostlist_MoreThanTheLimit, IsRefusedBeforeAnyIsMade) {
  EXPECT_TRUE(ExpandHostlist("n[1-10]", 10).ok());
  for (const char* text :
       {"n[1-11]", "a,n[1-10]", "n[1-4]x[1-3]", "n[0-9223372036854775807]",
        "n[0-999999999][0-999999999][0-999999999][0-999999999]", "n[1-5,1-5,1-5]"}) {
    EXPECT_TRUE(absl::IsResourceExhausted(ExpandHostlist(text, 10).status())) << text;
  }
}

TEST(Hostlist_RandomText, IsAnsweredWithinTheLimit) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  const std::string alphabet = "n[]-,019 (x)";
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (uint64_t size = random() % 24; size > 0; --size) {
      text += alphabet[random() % alphabet.size()];
    }
    const auto hosts = ExpandHostlist(text, 100);
    if (hosts.ok()) {
      EXPECT_LE(hosts->size(), 100u);
      for (const std::string& host : *hosts) EXPECT_FALSE(host.empty());
    }
    const auto counts = ExpandTaskCounts(text, 100);
    if (counts.ok()) {
      EXPECT_LE(counts->size(), 100u);
    }
  }
}

TEST(ExpandTaskCounts_SlurmsNotation, IsExpanded) {
  EXPECT_THAT(*ExpandTaskCounts("2(x3),1"), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(*ExpandTaskCounts("8"), ElementsAre(8));
  for (const char* text : {"", "a", "2(x", "2(x)", "2(x0)", "2(x3", "(x3)", "-1", "1,,2", "2x3"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ExpandTaskCounts(text).status())) << text;
  }
  EXPECT_TRUE(absl::IsResourceExhausted(ExpandTaskCounts("1(x999999999999)").status()));
}

}  // namespace
}  // namespace autobatch
