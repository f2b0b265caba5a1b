#include "orchestrator/core/option_changes.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

CoordinatorState Before() {
  return {.run_id = "r",
          .round = 4,
          .committed_round = 4,
          .committed_digest = "d",
          .members = {{"a", "1"}},
          .min_nodes = 1,
          .max_nodes = 3,
          .options = {{"--rule", "exact"}, {"--global-batch", "512"}, {"--band", ""}}};
}

CoordinatorConfig Now() {
  return {.run_id = "r", .min_nodes = 1, .max_nodes = 3, .options = Before().options};
}

TEST(OptionChangesTest, SameOptionsInAnyOrder_AreNoChange) {
  CoordinatorConfig now = Now();
  std::swap(now.options[0], now.options[2]);
  const OptionChanges changes = ChangesSince(Before(), now);
  EXPECT_THAT(changes.words, IsEmpty());
  EXPECT_FALSE(AskForAnotherRecord(changes, now, 2));
  EXPECT_FALSE(AskForAnotherRecord(changes, now, 4)) << "as before, whoever is done";
}

TEST(OptionChangesTest, EachChange_IsNamedWithBothValues) {
  CoordinatorConfig now = Now();
  now.max_nodes = 8;
  now.options = {{"--rule", "band"}, {"--global-batch", "1024"}, {"--band", "10"}, {"--new", "x"}};
  const OptionChanges changes = ChangesSince(Before(), now);
  EXPECT_THAT(changes.words, ElementsAre("--max-nodes: 3 -> 8", "--band: not given -> 10",
                                         "--global-batch: 512 -> 1024", "--new: not given -> x",
                                         "--rule: exact -> band"));
  EXPECT_TRUE(AskForAnotherRecord(changes, now, 2));
}

TEST(OptionChangesTest, OtherLimits_AreNoOtherRecord) {
  CoordinatorConfig now = Now();
  now.min_nodes = 2;
  const OptionChanges changes = ChangesSince(Before(), now);
  EXPECT_THAT(changes.words, ElementsAre("--min-nodes: 1 -> 2"));
  EXPECT_FALSE(AskForAnotherRecord(changes, now, 2));
  EXPECT_FALSE(AskForAnotherRecord(changes, now, 3));
  EXPECT_TRUE(AskForAnotherRecord(changes, now, 1)) << "too few";
  EXPECT_TRUE(AskForAnotherRecord(changes, now, 4)) << "too many";
}

TEST(OptionChangesTest, StateOfAnOlderVersion_SaysNothing) {
  CoordinatorState before = Before();
  before.min_nodes = before.max_nodes = 0;
  before.options.clear();
  EXPECT_THAT(ChangesSince(before, Now()).words, IsEmpty());
}

}  // namespace
}  // namespace autobatch
