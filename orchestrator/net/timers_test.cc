#include "orchestrator/net/timers.h"

#include <boost/asio/io_context.hpp>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orchestrator/net/event.h"
#include "orchestrator/net/simulated_timers.h"
#include "orchestrator/net/task_group.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;
namespace asio = boost::asio;

class TimersTest : public ::testing::Test {
 protected:
  static asio::awaitable<absl::StatusOr<int>> Answer(TimersTest* self, absl::Duration after) {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await self->timers_.WaitUntil(Add(self->timers_.Now(), after));
    self->operation_ended_ = true;
    co_return 42;
  }
  static asio::awaitable<absl::Status> Fail() { co_return absl::AbortedError("at once"); }
  template <typename T>
  static asio::awaitable<void> Store(asio::awaitable<T> from, std::optional<T>* into) {
    *into = co_await std::move(from);
  }

  SteadyTime After(absl::Duration duration) { return Add(timers_.Now(), duration); }

  asio::io_context io_{1};
  SimulatedTimers timers_{io_};
  TaskGroup tasks_{io_.get_executor()};
  bool operation_ended_ = false;
  std::optional<absl::StatusOr<int>> result_;
};

TEST_F(TimersTest, WithDeadline_OperationInTime_ItsResult) {
  tasks_.Spawn("test", Store(WithDeadline(timers_, After(absl::Seconds(2)), "the answer",
                                          Answer(this, absl::Seconds(1))),
                             &result_));
  timers_.Advance(absl::Seconds(1));
  ASSERT_TRUE(result_.has_value());
  EXPECT_EQ(**result_, 42);
}

TEST_F(TimersTest, WithDeadline_TooLate_DeadlineExceededAndOperationHasEnded) {
  tasks_.Spawn("test", Store(WithDeadline(timers_, After(absl::Seconds(2)), "the answer",
                                          Answer(this, absl::Seconds(3))),
                             &result_));
  timers_.Advance(absl::Seconds(1.9));
  EXPECT_FALSE(result_.has_value());
  timers_.Advance(absl::Seconds(0.1));
  ASSERT_TRUE(result_.has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded(result_->status()));
  EXPECT_THAT(result_->status().message(), HasSubstr("the answer"));
  EXPECT_TRUE(operation_ended_);
}

TEST_F(TimersTest, WithDeadline_CancelledFromOutside_EndsBeforeTheDeadline) {
  tasks_.Spawn("test", Store(WithDeadline(timers_, After(absl::Seconds(2)), "the answer",
                                          Answer(this, absl::Seconds(3))),
                             &result_));
  timers_.Advance(absl::Seconds(1));
  tasks_.Cancel();
  timers_.Advance(absl::ZeroDuration());
  ASSERT_TRUE(result_.has_value());
  EXPECT_TRUE(operation_ended_);
  EXPECT_EQ(tasks_.size(), 0u);
}

TEST_F(TimersTest, WithDeadline_OperationFails_ItsError) {
  std::optional<absl::Status> status;
  tasks_.Spawn("test", Store(WithDeadline(timers_, SteadyTime::max(), "nothing", Fail()), &status));
  timers_.Advance(absl::ZeroDuration());
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(absl::IsAborted(*status));
}

TEST_F(TimersTest, Real_WaitUntil_NotBeforeTheTime) {
  const auto timers = Timers::Real(io_.get_executor());
  const SteadyTime time = Add(timers->Now(), absl::Milliseconds(5));
  tasks_.Spawn("wait", timers->WaitUntil(time));
  io_.run();
  EXPECT_GE(timers->Now(), time);
  EXPECT_EQ(tasks_.size(), 0u);
}

TEST_F(TimersTest, Real_Cancelled_Ends) {
  const auto timers = Timers::Real(io_.get_executor());
  tasks_.Spawn("wait", timers->WaitUntil(SteadyTime::max()));
  io_.poll();
  tasks_.Cancel();
  io_.restart();
  io_.run();
  EXPECT_EQ(tasks_.size(), 0u);
}

}  // namespace
}  // namespace autobatch
