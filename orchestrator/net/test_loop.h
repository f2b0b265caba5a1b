#ifndef ORCHESTRATOR_NET_TEST_LOOP_H_
#define ORCHESTRATOR_NET_TEST_LOOP_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "gtest/gtest.h"
#include "orchestrator/net/simulated_timers.h"
#include "orchestrator/net/task_group.h"

namespace autobatch {

// One thread, one loop, a group of tasks, and time that passes only when a test says so: what tests
// of real sockets stand on. At the end everything is cancelled and joined.
class TestLoop {
 public:
  TestLoop() : timers(io), tasks(io.get_executor()) {}
  ~TestLoop() { Stop(); }

  // Ends every task; for a test whose own members they use.
  void Stop() {
    tasks.Cancel();
    bool joined = false;
    boost::asio::co_spawn(io, tasks.Join(),
                          [&joined](const std::exception_ptr&) { joined = true; });
    RunUntil([&joined] { return joined; });
    EXPECT_EQ(tasks.size(), 0u) << "tasks that do not end when they are cancelled";
  }

  // Runs until the condition holds; a test that hangs fails.
  bool RunUntil(const std::function<bool()>& done) {
    while (!done()) {
      io.restart();
      if (io.run_one_for(std::chrono::seconds(30)) == 0) {
        ADD_FAILURE() << "nothing happens any more";
        return false;
      }
    }
    return true;
  }

  // Runs until nothing is ready. What the kernel of one machine has been given, it has delivered.
  void Settle() {
    do {
      io.restart();
    } while (io.poll() > 0);
  }

  // Runs a coroutine to its end.
  template <typename T>
  T Run(boost::asio::awaitable<T> coroutine) {
    std::optional<T> result;
    std::exception_ptr failure;
    boost::asio::co_spawn(io, std::move(coroutine),
                          [&result, &failure](const std::exception_ptr& error, T value) {
                            failure = error;
                            result.emplace(std::move(value));
                          });
    RunUntil([&result] { return result.has_value(); });
    if (failure != nullptr) std::rethrow_exception(failure);
    return *std::move(result);
  }

  boost::asio::io_context io{1};
  // For a coroutine outside the group.
  boost::asio::cancellation_signal cancel;
  SimulatedTimers timers;
  TaskGroup tasks;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_TEST_LOOP_H_
