#ifndef ORCHESTRATOR_NET_SIMULATED_TIMERS_H_
#define ORCHESTRATOR_NET_SIMULATED_TIMERS_H_

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "orchestrator/net/timers.h"

namespace autobatch {

// Time that passes when a test says so. Single-threaded.
class SimulatedTimers final : public Timers {
 public:
  explicit SimulatedTimers(boost::asio::io_context& io);
  ~SimulatedTimers() override;

  SteadyTime Now() const override;
  boost::asio::awaitable<void> WaitUntil(SteadyTime time) override;
  std::unique_ptr<TimedCall> CallAt(SteadyTime time, std::function<void()> call) override;

  // Lets time pass and makes ready what is due, but runs nothing: for use inside a coroutine.
  void Jump(absl::Duration by);

  // Runs what is ready, then lets the time pass, stopping at each timer on the way to run what it
  // makes ready.
  void Advance(absl::Duration by);

  // Runs what is ready, jumping to the next timer whenever nothing is, until `done`. False: nothing
  // is left that could make it true, or the next timer is later than `limit` from now.
  bool RunUntil(const std::function<bool()>& done, absl::Duration limit = absl::Hours(24));

 private:
  struct State;

  boost::asio::io_context& io_;
  // Shared with those who wait, who may be destroyed later than this.
  std::shared_ptr<State> state_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_SIMULATED_TIMERS_H_
