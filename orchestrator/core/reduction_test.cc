#include "orchestrator/core/reduction.h"

#include <gmock/gmock.h>

namespace autobatch {
namespace {

using State = Reduction::State;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Reduction TwoNodes(int64_t attempts = 2) {
  return Reduction({{.agent = "a", .devices = 8}, {.agent = "b", .devices = 4}}, 32, attempts);
}

ReduceResult Answer(int64_t attempt, int64_t minimum, int64_t bytes = 0) {
  return {.attempt = attempt, .minimum = minimum, .communicator_bytes = bytes};
}

TEST(ReductionTest, AllThatAgree_Agree) {
  Reduction reduction = TwoNodes();
  EXPECT_EQ(reduction.RequestFor("a")->unique_id, "");
  EXPECT_FALSE(reduction.RequestFor("b").has_value());
  EXPECT_THAT(reduction.Missing(), ElementsAre("a"));
  EXPECT_TRUE(reduction.OnId("a", {.attempt = 1, .unique_id = "ff"}));
  EXPECT_EQ(reduction.RequestFor("b")->rank_base, 8);
  EXPECT_EQ(reduction.RequestFor("b")->world, 12);
  EXPECT_FALSE(reduction.OnResult("a", Answer(1, 32, 700)));
  EXPECT_THAT(reduction.Missing(), ElementsAre("b"));
  EXPECT_FALSE(reduction.OnResult("a", Answer(1, 32)));
  EXPECT_TRUE(reduction.OnResult("b", Answer(1, 32, 900)));
  EXPECT_EQ(reduction.state(), State::kAgreed);
  EXPECT_EQ(reduction.communicator_bytes(), 900);
}

TEST(ReductionTest, OneOtherValue_Differs) {
  Reduction reduction = TwoNodes();
  reduction.OnId("a", {.attempt = 1, .unique_id = "ff"});
  EXPECT_TRUE(reduction.OnResult("b", Answer(1, 31)));
  EXPECT_EQ(reduction.state(), State::kDiffers);
  EXPECT_THAT(reduction.reason(), HasSubstr("32 by the reports, 31 by NCCL on b"));
  EXPECT_FALSE(reduction.OnResult("a", Answer(1, 32))) << "it is over";
}

TEST(ReductionTest, Failure_BeginsAnAttemptUnderAnotherIdUntilNoneIsLeft) {
  Reduction reduction = TwoNodes();
  reduction.OnId("a", {.attempt = 1, .unique_id = "ff"});
  EXPECT_TRUE(reduction.OnResult("b", {.attempt = 1, .failure = "init timed out"}));
  EXPECT_EQ(reduction.state(), State::kId);
  EXPECT_EQ(reduction.attempt(), 2);
  EXPECT_EQ(reduction.RequestFor("a")->unique_id, "");
  EXPECT_FALSE(reduction.OnId("a", {.attempt = 1, .unique_id = "ff"})) << "of the first attempt";
  EXPECT_FALSE(reduction.OnResult("a", Answer(1, 32)));
  EXPECT_TRUE(reduction.OnResult("a", {.attempt = 2, .failure = "no NCCL"}));
  EXPECT_EQ(reduction.state(), State::kFailed);
  EXPECT_EQ(reduction.reason(), "a: no NCCL");
  EXPECT_FALSE(reduction.RequestFor("a").has_value());
}

TEST(ReductionTest, WhoIsNotAsked_IsNotHeard) {
  Reduction reduction = TwoNodes();
  EXPECT_FALSE(reduction.OnId("b", {.attempt = 1, .unique_id = "ff"})) << "not the root";
  EXPECT_FALSE(reduction.OnResult("a", Answer(1, 32))) << "no id yet";
  EXPECT_FALSE(reduction.OnResult("x", {.attempt = 1, .failure = "I am no member"}));
  EXPECT_EQ(reduction.state(), State::kId);
}

TEST(ReductionTest, TimeThatIsUp_IsAFailure) {
  Reduction reduction = TwoNodes(1);
  reduction.Fail("no answer from a");
  EXPECT_EQ(reduction.state(), State::kFailed);
}

}  // namespace
}  // namespace autobatch
