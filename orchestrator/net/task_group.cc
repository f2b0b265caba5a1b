#include "orchestrator/net/task_group.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <iterator>
#include <list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/log.h"

namespace autobatch {

namespace asio = boost::asio;

struct TaskGroup::State {
  explicit State(asio::any_io_executor executor)
      : executor(std::move(executor)),
        empty(this->executor, asio::steady_timer::time_point::max()) {}

  struct Task {
    asio::cancellation_signal signal;
    bool begun = false;
  };
  using Place = std::list<Task>::iterator;

  // Around each task.
  static asio::awaitable<void> Run(std::shared_ptr<State> state, Place place,
                                   asio::awaitable<void> task);

  asio::any_io_executor executor;
  // A list, since a signal cannot move.
  std::list<Task> tasks;
  bool cancelled = false;
  // Waited on by Join(), cancelled when the last task ends.
  asio::steady_timer empty;
};

namespace {

void LogFailure(const std::string& name, const std::exception_ptr& failure) {
  if (failure == nullptr) return;
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error& error) {
    if (error.code() == asio::error::operation_aborted) return;
    LogError(absl::StrCat("task '", name, "' ended: ", error.what()));
  } catch (const std::exception& error) {
    LogError(absl::StrCat("task '", name, "' ended: ", error.what()));
  }
}

}  // namespace

// Asio's own steps before and after a task throw out of the loop where the task is cancelled and
// has not waited for anything: hence no signal before it has begun, and none felt after it has
// ended.
asio::awaitable<void> TaskGroup::State::Run(std::shared_ptr<State> state, Place place,
                                            asio::awaitable<void> task) {
  place->begun = true;
  if (state->cancelled) co_return;
  std::exception_ptr failure;
  try {
    co_await std::move(task);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  if (failure != nullptr) std::rethrow_exception(failure);
}

TaskGroup::TaskGroup(asio::any_io_executor executor)
    : state_(std::make_shared<State>(std::move(executor))) {}

TaskGroup::~TaskGroup() = default;

void TaskGroup::Spawn(std::string name, asio::awaitable<void> task) {
  if (state_->cancelled) return;
  const auto place = state_->tasks.emplace(state_->tasks.end());
  asio::co_spawn(state_->executor, State::Run(state_, place, std::move(task)),
                 asio::bind_cancellation_slot(place->signal.slot(),
                                              [state = state_, place, name = std::move(name)](
                                                  const std::exception_ptr& failure) {
                                                LogFailure(name, failure);
                                                state->tasks.erase(place);
                                                if (state->tasks.empty()) state->empty.cancel();
                                              }));
}

void TaskGroup::Cancel() {
  state_->cancelled = true;
  // On the executor's thread a signal reaches its task at once. From elsewhere Asio would post it,
  // with a pointer into the signal, which would be gone where the task ends before.
  asio::dispatch(state_->executor, [state = state_] {
    for (auto task = state->tasks.begin(); task != state->tasks.end();) {
      // The task may end, and so leave the list, while its signal is being emitted.
      const auto next = std::next(task);
      if (task->begun) task->signal.emit(asio::cancellation_type::terminal);
      task = next;
    }
  });
}

asio::awaitable<void> TaskGroup::Join() {
  // The state, not the group, in case it is destroyed by whoever is woken first.
  const std::shared_ptr<State> state = state_;
  co_await asio::this_coro::throw_if_cancelled(false);
  while (!state->tasks.empty()) {
    co_await state->empty.async_wait(asio::as_tuple(asio::use_awaitable));
    if ((co_await asio::this_coro::cancellation_state).cancelled() !=
        asio::cancellation_type::none) {
      co_return;
    }
  }
}

bool TaskGroup::cancelled() const { return state_->cancelled; }
size_t TaskGroup::size() const { return state_->tasks.size(); }
const asio::any_io_executor& TaskGroup::executor() const { return state_->executor; }

}  // namespace autobatch
