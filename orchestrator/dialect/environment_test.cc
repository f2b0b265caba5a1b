#include "orchestrator/dialect/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(EnvironmentFrom_VariablesOfAProcess, TakesTheFirstOfTwo) {
  const char* variables[] = {"A=1", "B=x=y", "A=2", "=C", "D", "E=", nullptr};
  EXPECT_THAT(EnvironmentFrom(variables),
              ElementsAre(Pair("A", "1"), Pair("B", "x=y"), Pair("E", "")));
  EXPECT_THAT(EnvironmentFrom(nullptr), IsEmpty());
}

TEST(EnvironmentReader_NumbersOutOfRange, AreProblemsThatNameTheVariable) {
  const Environment environment = {{"GOOD", "7"},   {"ZERO", "0"}, {"MINUS", "-1"},
                                   {"TEXT", "a\n"}, {"EMPTY", ""}, {"HUGE", "99999999999"}};
  std::vector<std::string> problems;
  EnvironmentReader reader(environment, problems);
  EXPECT_EQ(reader.Number("GOOD"), 7);
  EXPECT_EQ(reader.Number("ZERO"), 0);
  EXPECT_EQ(reader.Number("EMPTY"), std::nullopt);
  EXPECT_EQ(reader.Number("MISSING"), std::nullopt);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(reader.Number("ZERO", 1), std::nullopt);
  EXPECT_EQ(reader.Number("MINUS"), std::nullopt);
  EXPECT_EQ(reader.Number("TEXT"), std::nullopt);
  EXPECT_EQ(reader.Number("HUGE"), std::nullopt);
  EXPECT_THAT(problems,
              ElementsAre("ZERO='0': expected a whole number from 1 up", HasSubstr("MINUS='-1'"),
                          HasSubstr("TEXT='a\\n'"), HasSubstr("HUGE='99999999999'")));
}

TEST(EnvironmentReader_RankNotBelowSize, IsAProblem) {
  const Environment environment;
  std::vector<std::string> problems;
  EnvironmentReader reader(environment, problems);
  reader.CheckBelow("RANK", 1, "WORLD_SIZE", 2);
  reader.CheckBelow("RANK", std::nullopt, "WORLD_SIZE", 2);
  EXPECT_THAT(problems, IsEmpty());
  reader.CheckBelow("RANK", 2, "WORLD_SIZE", 2);
  EXPECT_THAT(problems, ElementsAre("RANK=2 is not below WORLD_SIZE=2"));
}

TEST(EnvironmentReader_RankAndSize, AreReadAndChecked) {
  const Environment environment = {{"RANK", "2"}, {"WORLD_SIZE", "3"}, {"NONE", "0"}};
  std::vector<std::string> problems;
  EnvironmentReader reader(environment, problems);
  std::optional<int64_t> rank;
  std::optional<int64_t> size;
  reader.ReadRank("RANK", rank, "WORLD_SIZE", size);
  EXPECT_EQ(rank, 2);
  EXPECT_EQ(size, 3);
  EXPECT_THAT(problems, IsEmpty());
  reader.ReadRank("WORLD_SIZE", rank, "RANK", size);
  reader.ReadRank("MISSING", rank, "NONE", size);
  EXPECT_EQ(rank, std::nullopt);
  EXPECT_THAT(problems, ElementsAre("WORLD_SIZE=3 is not below RANK=2", HasSubstr("NONE='0'")));
}

}  // namespace
}  // namespace autobatch
