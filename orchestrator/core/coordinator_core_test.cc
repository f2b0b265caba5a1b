#include "orchestrator/core/coordinator_core.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "orchestrator/core/coordinator_harness.h"
#include "orchestrator/core/exit_codes.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CoordinatorCoreTest, TwoNodes_AgreeAndCommit) {
  CoordinatorHarness run;
  const ConnectionId a = run.Join("a", 2);
  EXPECT_TRUE(run.Took<Welcome>(a).has_value());
  EXPECT_FALSE(run.Took<Collect>(a).has_value());
  const ConnectionId b = run.Join("b");
  EXPECT_EQ(run.Took<Collect>(a)->round, 1);
  EXPECT_EQ(run.Took<Collect>(b)->round, 1);
  run.Report(a, 48);
  run.Report(b, 32);
  const auto prepare = run.Took<Prepare>(a);
  ASSERT_TRUE(prepare.has_value());
  EXPECT_EQ(prepare->digest, "round-1-batch-32-ranks-3");
  run.Prepare(a);
  EXPECT_FALSE(run.Took<Commit>(a).has_value()) << "b has not prepared yet";
  run.Prepare(b);
  EXPECT_EQ(run.Took<Commit>(a)->digest, prepare->digest);
  EXPECT_EQ(run.Took<Commit>(b)->digest, prepare->digest);
  ASSERT_EQ(run.rounds.size(), 1u);
  EXPECT_TRUE(run.rounds[0].committed);
  EXPECT_EQ(*run.rounds[0].record, prepare->record);
  EXPECT_EQ(run.rounds[0].nodes.size(), 2u);
  EXPECT_TRUE(run.confirmed.empty());
  run.Commit(a);
  run.Commit(b);
  ASSERT_EQ(run.confirmed.size(), 1u);
  EXPECT_THAT(run.confirmed[0].confirmed, ElementsAre("a", "b"));
  EXPECT_FALSE(run.finished.has_value());
  EXPECT_THAT(run.said, HasSubstr("batch 32, set by GPU-b-0 of b"));
}

}  // namespace
}  // namespace autobatch
