#include "orchestrator/net/task_group.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <stdexcept>

#include "gtest/gtest.h"
#include "orchestrator/net/event.h"

namespace autobatch {
namespace {

namespace asio = boost::asio;

asio::awaitable<void> CountUp(int* count) {
  ++*count;
  co_return;
}

// Waits for ever; by a throwing token, as a task may.
asio::awaitable<void> WaitForEver(int* ended) {
  struct Counter {
    int* ended;
    ~Counter() { ++*ended; }
  } counter{ended};
  asio::steady_timer timer(co_await asio::this_coro::executor,
                           asio::steady_timer::time_point::max());
  co_await timer.async_wait(asio::use_awaitable);
}

// Cancelled, it still has something to do.
asio::awaitable<void> CleanUpSlowly(asio::io_context* io, bool* cleaned) {
  co_await asio::this_coro::throw_if_cancelled(false);
  Event never(io->get_executor());
  co_await never.Wait();
  co_await asio::this_coro::reset_cancellation_state();
  asio::steady_timer timer(*io, std::chrono::milliseconds(1));
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  *cleaned = true;
}

asio::awaitable<void> Throw() {
  throw std::runtime_error("a bug");
  co_return;
}

asio::awaitable<void> CancelOwnGroup(TaskGroup* tasks, int* ended) {
  tasks->Cancel();
  co_await WaitForEver(ended);
}

class TaskGroupTest : public ::testing::Test {
 protected:
  // Whether Join() returns once everything that is ready has run.
  bool Join() {
    bool joined = false;
    asio::co_spawn(io_, tasks_.Join(), [&joined](const std::exception_ptr&) { joined = true; });
    io_.restart();
    io_.run_for(std::chrono::seconds(10));
    return joined;
  }

  asio::io_context io_{1};
  TaskGroup tasks_{io_.get_executor()};
};

TEST_F(TaskGroupTest, Join_NoTasks_AtOnce) { EXPECT_TRUE(Join()); }

TEST_F(TaskGroupTest, Spawn_Tasks_RunAndLeaveTheGroup) {
  int count = 0;
  for (int i = 0; i < 3; ++i) tasks_.Spawn("count", CountUp(&count));
  EXPECT_EQ(tasks_.size(), 3u);
  EXPECT_TRUE(Join());
  EXPECT_EQ(count, 3);
  EXPECT_EQ(tasks_.size(), 0u);
}

TEST_F(TaskGroupTest, Cancel_WaitingTasks_EndAndAreJoined) {
  int ended = 0;
  for (int i = 0; i < 100; ++i) tasks_.Spawn("wait", WaitForEver(&ended));
  io_.poll();
  EXPECT_EQ(ended, 0);
  tasks_.Cancel();
  EXPECT_TRUE(Join());
  EXPECT_EQ(ended, 100);
}

TEST_F(TaskGroupTest, Cancel_BeforeTheyHaveBegun_End) {
  int ended = 0;
  for (int i = 0; i < 10; ++i) tasks_.Spawn("wait", WaitForEver(&ended));
  tasks_.Cancel();
  EXPECT_TRUE(Join());
}

TEST_F(TaskGroupTest, Cancel_TaskCleansUpSlowly_JoinWaits) {
  bool cleaned = false;
  tasks_.Spawn("slow", CleanUpSlowly(&io_, &cleaned));
  io_.poll();
  tasks_.Cancel();
  EXPECT_TRUE(Join());
  EXPECT_TRUE(cleaned);
}

TEST_F(TaskGroupTest, Spawn_GroupCancelled_NotStarted) {
  int count = 0;
  tasks_.Cancel();
  EXPECT_TRUE(tasks_.cancelled());
  tasks_.Spawn("count", CountUp(&count));
  EXPECT_TRUE(Join());
  EXPECT_EQ(count, 0);
}

TEST_F(TaskGroupTest, Cancel_FromATaskOfTheGroup_AllEnd) {
  int ended = 0;
  tasks_.Spawn("wait", WaitForEver(&ended));
  tasks_.Spawn("cancel", CancelOwnGroup(&tasks_, &ended));
  tasks_.Spawn("wait", WaitForEver(&ended));
  EXPECT_TRUE(Join());
  EXPECT_EQ(tasks_.size(), 0u);
}

TEST_F(TaskGroupTest, Spawn_TaskThrows_OthersGoOn) {
  int count = 0;
  tasks_.Spawn("throw", Throw());
  tasks_.Spawn("count", CountUp(&count));
  EXPECT_TRUE(Join());
  EXPECT_EQ(count, 1);
}

TEST(TaskGroupEndTest, Destroy_IoContextNeverRunsAgain_NothingLeaks) {
  int ended = 0;
  {
    asio::io_context io(1);
    TaskGroup tasks(io.get_executor());
    tasks.Spawn("wait", WaitForEver(&ended));
    io.poll();
  }
  EXPECT_EQ(ended, 1);
}

}  // namespace
}  // namespace autobatch
