#ifndef ORCHESTRATOR_NET_TASK_GROUP_H_
#define ORCHESTRATOR_NET_TASK_GROUP_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <memory>
#include <string>

namespace autobatch {

// Coroutines that are ended together: the owner cancels all and joins all, and none outlives what
// it works on. Everything runs on the one thread of the executor.
//
//     TaskGroup tasks(io.get_executor());
//     tasks.Spawn("accept", Accept(...));
//     ...
//     tasks.Cancel();
//     co_await tasks.Join();
//
// A task that ends by an exception is logged as an error under its name (rooms throw none); an
// exception that says "cancelled" is the ordinary end of a cancelled task.
class TaskGroup {
 public:
  explicit TaskGroup(boost::asio::any_io_executor executor);
  // The tasks must have ended, or the io_context must never run again.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts a task. In a cancelled group it is not started.
  void Spawn(std::string name, boost::asio::awaitable<void> task);

  // Asks every task to end: whatever it waits for ends with operation_aborted.
  void Cancel();

  // Waits until no task is left; one caller at a time. Not from a task of the group itself.
  boost::asio::awaitable<void> Join();

  bool cancelled() const;
  size_t size() const;
  const boost::asio::any_io_executor& executor() const;

 private:
  struct State;
  // Shared with the tasks' completions, which may come late.
  std::shared_ptr<State> state_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_TASK_GROUP_H_
