#ifndef ORCHESTRATOR_NET_ADVERTISE_ADDRESS_H_
#define ORCHESTRATOR_NET_ADVERTISE_ADDRESS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

struct AdvertiseOptions {
  // What the user says to advertise: taken as it is, a name or an address. It may differ from the
  // address that is bound, as behind a forwarded port.
  std::string advertise;
  // What is bound. One address of this host is advertised itself; "::" and "0.0.0.0" say nothing.
  std::string bind = "::";
  // The address (not a name) of somebody who shall reach us: the interface towards it is chosen.
  // Empty: the interface of the default route.
  std::string peer;
};

// The host to give to others so that they reach this one. Loopback only where `peer` itself is on
// loopback: never the 127.0.1.1 that Debian resolves a host's own name to, for no name is resolved.
// InvalidArgument: the user's own choice is a loopback address, and the peer is elsewhere.
// NotFound: no route leads anywhere; the text says to name the address. Does not block: it asks
// the kernel for a route and sends nothing.
absl::StatusOr<std::string> AdvertiseAddress(const AdvertiseOptions& options);

// Whether this text is a loopback address (127.0.0.0/8, ::1, either mapped into IPv6) or the name
// "localhost".
bool IsLoopbackHost(absl::string_view host);

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_ADVERTISE_ADDRESS_H_
