#ifndef ORCHESTRATOR_NET_HANDSHAKE_GATE_H_
#define ORCHESTRATOR_NET_HANDSHAKE_GATE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "autobatch/base/clock.h"

namespace autobatch {

// Who may try to authenticate at the same time: so many, and under pressure whoever holds most
// places gives up the oldest of them, so that a flood from one address ends itself only. Pure.
//
//     if (gate.full()) { if (auto victim = gate.Victim(now)) Drop(*victim); else wait; }
//     const auto ticket = gate.Enter(network, now);
//     ... gate.Leave(ticket);
class HandshakeGate {
 public:
  using Ticket = uint64_t;

  // At most `places` at a time; nobody gives way before it has had `patience`.
  HandshakeGate(size_t places, absl::Duration patience) : places_(places), patience_(patience) {}

  bool full() const { return size_ >= places_; }
  size_t size() const { return size_; }

  // `network` is what an attacker has one of: an IPv4 address, or 64 bits of an IPv6 address.
  Ticket Enter(const std::string& network, SteadyTime now);
  // Does nothing for a ticket that has left.
  void Leave(Ticket ticket);

  // The place that should be given up now, or nothing while there is room or all are young.
  std::optional<Ticket> Victim(SteadyTime now) const;
  // When to ask again if nobody leaves before.
  SteadyTime NextVictim() const;

 private:
  // Since when each place is held, the oldest first.
  using Places = std::map<Ticket, SteadyTime>;
  // The oldest place of the network that has most, the older one of equals.
  const Places::value_type* Candidate() const;

  size_t places_;
  absl::Duration patience_;
  size_t size_ = 0;
  Ticket next_ = 1;
  std::map<std::string, Places> networks_;
  std::map<Ticket, std::string> network_of_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_HANDSHAKE_GATE_H_
