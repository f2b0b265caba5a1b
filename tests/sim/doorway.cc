#include "tests/sim/doorway.h"

#include <algorithm>
#include <utility>

namespace autobatch::sim {

void Doorway::Enter(const std::string& network, absl::Duration takes, std::function<void()> inside,
                    std::function<void()> outside) {
  waiting_.push_back({network, takes, std::move(inside), std::move(outside)});
  Step();
}

void Doorway::Loiter(const std::string& network, absl::Duration stays) {
  waiting_.push_back({network, std::min(stays, kDeadline), nullptr, nullptr});
  Step();
}

void Doorway::Exhaust(absl::Duration duration) {
  exhausted_until_ = Add(time_.Now(), duration);
  StepAt(exhausted_until_);
}

void Doorway::StepAt(SteadyTime when) {
  time_.At(when, [this] { Step(); });
}

void Doorway::Step() {
  most_ = std::max(most_, callers());
  while (!waiting_.empty() && time_.Now() >= exhausted_until_) {
    if (gate_.full()) {
      const std::optional<HandshakeGate::Ticket> victim = gate_.Victim(time_.Now());
      if (!victim.has_value()) {
        StepAt(std::max(gate_.NextVictim(), Add(time_.Now(), absl::Milliseconds(1))));
        return;
      }
      gate_.Leave(*victim);
      const auto found = inside_.extract(*victim);
      if (!found.empty() && found.mapped()) found.mapped()();
      continue;
    }
    Caller caller = std::move(waiting_.front());
    waiting_.pop_front();
    const HandshakeGate::Ticket ticket = gate_.Enter(caller.network, time_.Now());
    inside_[ticket] = std::move(caller.outside);
    time_.After(caller.stays, [this, ticket, inside = std::move(caller.inside)] {
      if (inside_.erase(ticket) == 0) return;  // It had to give way.
      gate_.Leave(ticket);
      if (inside) inside();
      Step();
    });
  }
}

}  // namespace autobatch::sim
