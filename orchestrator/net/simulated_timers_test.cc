#include "orchestrator/net/simulated_timers.h"

#include <boost/asio/io_context.hpp>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orchestrator/net/task_group.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
namespace asio = boost::asio;

class SimulatedTimersTest : public ::testing::Test {
 protected:
  static asio::awaitable<void> Note(SimulatedTimersTest* self, int seconds, int name) {
    co_await self->timers_.WaitUntil(Add(self->start_, absl::Seconds(seconds)));
    self->order_.push_back(name);
    self->at_.push_back(absl::ToInt64Seconds(Between(self->start_, self->timers_.Now())));
  }
  void Start(int seconds, int name) { tasks_.Spawn("note", Note(this, seconds, name)); }

  asio::io_context io_{1};
  SimulatedTimers timers_{io_};
  TaskGroup tasks_{io_.get_executor()};
  const SteadyTime start_ = timers_.Now();
  std::vector<int> order_;
  std::vector<int64_t> at_;
};

TEST_F(SimulatedTimersTest, Advance_SeveralTimers_InOrderAndEachAtItsTime) {
  Start(3, 1);
  Start(1, 2);
  Start(1, 3);
  Start(0, 4);
  Start(10, 5);
  timers_.Advance(absl::Seconds(5));
  EXPECT_THAT(order_, ElementsAre(4, 2, 3, 1));
  EXPECT_THAT(at_, ElementsAre(0, 1, 1, 3));
  EXPECT_EQ(Between(start_, timers_.Now()), absl::Seconds(5));
  timers_.Advance(absl::Seconds(5));
  EXPECT_THAT(order_, ElementsAre(4, 2, 3, 1, 5));
}

TEST_F(SimulatedTimersTest, RunUntil_ConditionComesTrue_TimeStopsThere) {
  Start(7, 1);
  Start(9, 2);
  EXPECT_TRUE(timers_.RunUntil([this] { return !order_.empty(); }));
  EXPECT_EQ(Between(start_, timers_.Now()), absl::Seconds(7));
}

TEST_F(SimulatedTimersTest, RunUntil_NothingLeftOrTooLate_False) {
  EXPECT_FALSE(timers_.RunUntil([] { return false; }));
  Start(100, 1);
  EXPECT_FALSE(timers_.RunUntil([this] { return !order_.empty(); }, absl::Seconds(99)));
  EXPECT_TRUE(timers_.RunUntil([this] { return !order_.empty(); }, absl::Seconds(100)));
}

TEST_F(SimulatedTimersTest, Cancel_WaitingTask_EndsAndItsTimerIsForgotten) {
  Start(100, 1);
  timers_.Advance(absl::Seconds(1));
  tasks_.Cancel();
  timers_.Advance(absl::Seconds(1));
  EXPECT_EQ(tasks_.size(), 0u);
  EXPECT_THAT(at_, ElementsAre(1));
  timers_.Advance(absl::Seconds(200));
  EXPECT_EQ(order_.size(), 1u);
}

}  // namespace
}  // namespace autobatch
