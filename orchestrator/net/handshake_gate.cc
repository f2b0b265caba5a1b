#include "orchestrator/net/handshake_gate.h"

namespace autobatch {

HandshakeGate::Ticket HandshakeGate::Enter(const std::string& network, SteadyTime now) {
  const Ticket ticket = next_++;
  networks_[network].push_back({ticket, now});
  network_of_[ticket] = network;
  ++size_;
  return ticket;
}

void HandshakeGate::Leave(Ticket ticket) {
  const auto known = network_of_.find(ticket);
  if (known == network_of_.end()) return;
  const auto network = networks_.find(known->second);
  network->second.remove_if([ticket](const Place& place) { return place.ticket == ticket; });
  if (network->second.empty()) networks_.erase(network);
  network_of_.erase(known);
  --size_;
}

const HandshakeGate::Place* HandshakeGate::Candidate() const {
  const Places* most = nullptr;
  for (const auto& [network, places] : networks_) {
    if (most == nullptr || places.size() > most->size() ||
        (places.size() == most->size() && places.front().since < most->front().since)) {
      most = &places;
    }
  }
  return most == nullptr ? nullptr : &most->front();
}

std::optional<HandshakeGate::Ticket> HandshakeGate::Victim(SteadyTime now) const {
  if (!full()) return std::nullopt;
  const Place* const place = Candidate();
  if (place == nullptr || now < Add(place->since, patience_)) return std::nullopt;
  return place->ticket;
}

SteadyTime HandshakeGate::NextVictim() const {
  const Place* const place = full() ? Candidate() : nullptr;
  return place == nullptr ? SteadyTime::max() : Add(place->since, patience_);
}

}  // namespace autobatch
