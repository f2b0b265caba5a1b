#ifndef TESTS_SIM_DOORWAY_H_
#define TESTS_SIM_DOORWAY_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "autobatch/base/clock.h"
#include "orchestrator/net/handshake_gate.h"
#include "tests/sim/virtual_time.h"

namespace autobatch::sim {

// What stands before a coordinator: callers that have not proved themselves yet, at production's
// gate, each within one deadline; and a process that may run out of descriptors.
class Doorway {
 public:
  static constexpr absl::Duration kDeadline = absl::Seconds(10);
  static constexpr absl::Duration kPatience = absl::Seconds(3);

  Doorway(VirtualTime& time, size_t places) : time_(time), gate_(places, kPatience) {}

  // A caller of that network who proves itself in so long, once there is room; then `inside`, and
  // its place is free. If it has to give way, `outside`.
  void Enter(const std::string& network, absl::Duration takes, std::function<void()> inside,
             std::function<void()> outside);

  // A caller that never does, and goes after so long: a port scan at once, a byte now and then at
  // the deadline only.
  void Loiter(const std::string& network, absl::Duration stays);

  // No connection is accepted for so long.
  void Exhaust(absl::Duration duration);

  // Who holds a place or waits for one.
  size_t callers() const { return gate_.size() + waiting_.size(); }
  size_t most_callers() const { return most_; }

 private:
  struct Caller {
    std::string network;
    absl::Duration stays;
    std::function<void()> inside;
    std::function<void()> outside;
  };

  void Step();
  void StepAt(SteadyTime when);

  VirtualTime& time_;
  HandshakeGate gate_;
  SteadyTime exhausted_until_;
  std::deque<Caller> waiting_;
  std::map<HandshakeGate::Ticket, std::function<void()>> inside_;  // what giving way means
  size_t most_ = 0;
};

}  // namespace autobatch::sim

#endif  // TESTS_SIM_DOORWAY_H_
