#include "orchestrator/core/coordinator_state.h"

#include <gmock/gmock.h>

#include "autobatch/types/json.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

CoordinatorState Sample() {
  return {.run_id = "r",
          .round = 5,
          .committed_round = 4,
          .committed_digest = "c",
          .members = {{"a", "1"}},
          .min_nodes = 1,
          .max_nodes = 2,
          .options = {{"--global-batch", "512"}}};
}

template <typename F>
std::string Complaint(F spoil) {
  CoordinatorState state = Sample();
  EXPECT_EQ(ValidateState(state, "r"), absl::OkStatus());
  spoil(state);
  return std::string(ValidateState(state, "r").message());
}

TEST(CoordinatorStateTest, State_SurvivesTheDisk) {
  const auto back = ReadState(ToJson(Sample()), "r");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToJson(*back), ToJson(Sample()));
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadState(ToJson(Sample()), "x").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadState("{", "r").status()));
}

TEST(CoordinatorStateTest, EveryField_IsChecked) {
  using S = CoordinatorState;
  EXPECT_THAT(Complaint([](S& s) { s.schema = "v2"; }), HasSubstr("schema 'v2'"));
  EXPECT_THAT(Complaint([](S& s) { s.run_id = "x"; }), HasSubstr("of run 'x', not r"));
  EXPECT_THAT(Complaint([](S& s) { s.round = -1; }), HasSubstr("round -1"));
  EXPECT_THAT(Complaint([](S& s) { s.committed_round = 6; }), HasSubstr("committed_round 6"));
  EXPECT_THAT(Complaint([](S& s) { s.committed_round = 0; }), HasSubstr("not at all"));
  EXPECT_THAT(Complaint([](S& s) { s.committed_digest = ""; }), HasSubstr("not at all"));
  EXPECT_THAT(Complaint([](S& s) { s.members.clear(); }), HasSubstr("not at all"));
  EXPECT_THAT(Complaint([](S& s) { s.members[0].agent = ""; }), HasSubstr("no name"));
  EXPECT_THAT(Complaint([](S& s) { s.members.push_back(s.members[0]); }),
              HasSubstr("member a is there twice"));
  EXPECT_THAT(Complaint([](S& s) { s.min_nodes = -1; }), HasSubstr("min_nodes -1"));
  EXPECT_THAT(Complaint([](S& s) { s.max_nodes = 0; }), HasSubstr("max_nodes 0"));
  EXPECT_THAT(Complaint([](S& s) { s.options[0].name = ""; }), HasSubstr("option has no name"));
}

TEST(CoordinatorStateTest, FreshState_IsValid) {
  EXPECT_EQ(ValidateState({.run_id = "r"}, "r"), absl::OkStatus());
}

}  // namespace
}  // namespace autobatch
