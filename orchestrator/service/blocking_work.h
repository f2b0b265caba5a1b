#ifndef ORCHESTRATOR_SERVICE_BLOCKING_WORK_H_
#define ORCHESTRATOR_SERVICE_BLOCKING_WORK_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <utility>

#include "autobatch/base/clock.h"

namespace autobatch {

// Work that blocks (files, probes, child processes), done on a pool so that the one thread of the
// control plane never waits for it.
//
//   work.Run([file, text] { return file.Write(text); },
//            [this](absl::Status status) { Handle(Persisted{status}); });
//   ...
//   co_await work.Join();
class BlockingWork {
 public:
  // Everything but the work itself runs on `home`, whose thread makes all calls.
  BlockingWork(boost::asio::any_io_executor home, boost::asio::any_io_executor pool)
      : home_(std::move(home)), pool_(std::move(pool)), ended_(home_) {}
  BlockingWork(const BlockingWork&) = delete;
  BlockingWork& operator=(const BlockingWork&) = delete;

  // `work()` on the pool, then `then(result)` at home. On a pool of one thread, work is done in the
  // order of the calls.
  template <typename Work, typename Then>
  void Run(Work work, Then then) {
    ++pending_;
    boost::asio::post(pool_, [this, work = std::move(work), then = std::move(then)]() mutable {
      auto result = work();
      boost::asio::post(home_,
                        [this, result = std::move(result), then = std::move(then)]() mutable {
                          --pending_;
                          then(std::move(result));
                          ended_.expires_at(SteadyTime::min());
                        });
    });
  }

  // Until nothing is under way. What it waits for is to be cancelled by whoever knows how.
  boost::asio::awaitable<void> Join() {
    while (pending_ > 0) {
      ended_.expires_at(SteadyTime::max());
      co_await ended_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    }
  }

  size_t pending() const { return pending_; }

 private:
  const boost::asio::any_io_executor home_;
  const boost::asio::any_io_executor pool_;
  size_t pending_ = 0;
  // Woken whenever something ends.
  boost::asio::steady_timer ended_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_BLOCKING_WORK_H_
