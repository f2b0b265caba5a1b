#include "orchestrator/net/wake_timer.h"

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>

#include "absl/time/time.h"
#include "autobatch/base/clock.h"
#include "gtest/gtest.h"
#include "orchestrator/net/simulated_timers.h"
#include "orchestrator/net/task_group.h"

namespace autobatch {
namespace {

class WakeTimerTest : public ::testing::Test {
 protected:
  SteadyTime After(absl::Duration duration) { return Add(timers_.Now(), duration); }

  boost::asio::io_context io_{1};
  SimulatedTimers timers_{io_};
  TaskGroup tasks_{io_.get_executor()};
  int woken_ = 0;
  std::optional<WakeTimer> timer_{std::in_place, tasks_, timers_, [this] { ++woken_; }};
};

TEST_F(WakeTimerTest, ItsTimeComes_CallsBackOnce) {
  timer_->Arm(After(absl::Seconds(2)));
  timers_.Advance(absl::Seconds(1.9));
  EXPECT_EQ(woken_, 0);
  timers_.Advance(absl::Seconds(0.1));
  EXPECT_EQ(woken_, 1);
  timers_.Advance(absl::Seconds(10));
  EXPECT_EQ(woken_, 1);
}

TEST_F(WakeTimerTest, LaterTime_ReplacesTheEarlier) {
  timer_->Arm(After(absl::Seconds(2)));
  timer_->Arm(After(absl::Seconds(5)));
  timers_.Advance(absl::Seconds(4.9));
  EXPECT_EQ(woken_, 0);
  timers_.Advance(absl::Seconds(0.1));
  EXPECT_EQ(woken_, 1);
}

TEST_F(WakeTimerTest, EarlierTime_ReplacesTheLater) {
  timer_->Arm(After(absl::Seconds(5)));
  timer_->Arm(After(absl::Seconds(2)));
  timers_.Advance(absl::Seconds(2));
  EXPECT_EQ(woken_, 1);
  timers_.Advance(absl::Seconds(10));
  EXPECT_EQ(woken_, 1);
}

TEST_F(WakeTimerTest, ArmedWhenCalled_CallsBackAgain) {
  timer_.emplace(tasks_, timers_, [this] {
    if (++woken_ < 3) timer_->Arm(After(absl::Seconds(1)));
  });
  timer_->Arm(After(absl::Seconds(1)));
  timers_.Advance(absl::Seconds(2));
  EXPECT_EQ(woken_, 2);
  timers_.Advance(absl::Seconds(10));
  EXPECT_EQ(woken_, 3);
}

TEST_F(WakeTimerTest, TimeThatHasPassed_CallsBackInTheNextTurn) {
  timer_->Arm(After(-absl::Seconds(1)));
  EXPECT_EQ(woken_, 0);
  timers_.Advance(absl::ZeroDuration());
  EXPECT_EQ(woken_, 1);
}

TEST_F(WakeTimerTest, GoneWithinItsCall_IsNotUsedAgain) {
  timer_.emplace(tasks_, timers_, [this] {
    ++woken_;
    timer_.reset();
  });
  timer_->Arm(After(absl::Seconds(1)));
  timers_.Advance(absl::Seconds(10));
  EXPECT_EQ(woken_, 1);
}

TEST_F(WakeTimerTest, NoTimeAnyMore_NothingKeepsTheLoop) {
  timer_->Arm(After(absl::Seconds(2)));
  timer_->Arm(After(absl::Seconds(1)));
  timer_->Arm(std::nullopt);
  io_.restart();
  io_.run_for(std::chrono::seconds(5));
  EXPECT_TRUE(io_.stopped());
}

TEST_F(WakeTimerTest, NoTimeAnyMore_IsNotCalled) {
  timer_->Arm(After(absl::Seconds(2)));
  timer_->Arm(std::nullopt);
  timers_.Advance(absl::Seconds(10));
  EXPECT_EQ(woken_, 0);
}

TEST_F(WakeTimerTest, GoneBeforeItsTime_IsNotCalled) {
  timer_->Arm(After(absl::Seconds(2)));
  timer_.reset();
  timers_.Advance(absl::Seconds(10));
  EXPECT_EQ(woken_, 0);
}

TEST_F(WakeTimerTest, CancelledTasks_IsNotCalled) {
  timer_->Arm(After(absl::Seconds(2)));
  tasks_.Cancel();
  timers_.Advance(absl::Seconds(10));
  EXPECT_EQ(woken_, 0);
}

}  // namespace
}  // namespace autobatch
