#include "orchestrator/net/handshake_gate.h"

namespace autobatch {

HandshakeGate::Ticket HandshakeGate::Enter(const std::string& network, SteadyTime now) {
  const Ticket ticket = next_++;
  networks_[network].emplace(ticket, now);
  network_of_[ticket] = network;
  ++size_;
  return ticket;
}

void HandshakeGate::Leave(Ticket ticket) {
  const auto known = network_of_.find(ticket);
  if (known == network_of_.end()) return;
  const auto network = networks_.find(known->second);
  network->second.erase(ticket);
  if (network->second.empty()) networks_.erase(network);
  network_of_.erase(known);
  --size_;
}

const HandshakeGate::Places::value_type* HandshakeGate::Candidate() const {
  const Places* most = nullptr;
  for (const auto& [network, places] : networks_) {
    if (most == nullptr || places.size() > most->size() ||
        (places.size() == most->size() && places.begin()->second < most->begin()->second)) {
      most = &places;
    }
  }
  return most == nullptr ? nullptr : &*most->begin();
}

std::optional<HandshakeGate::Ticket> HandshakeGate::Victim(SteadyTime now) const {
  if (!full()) return std::nullopt;
  const auto* const place = Candidate();
  if (place == nullptr || now < Add(place->second, patience_)) return std::nullopt;
  return place->first;
}

SteadyTime HandshakeGate::NextVictim() const {
  const auto* const place = full() ? Candidate() : nullptr;
  return place == nullptr ? SteadyTime::max() : Add(place->second, patience_);
}

}  // namespace autobatch
