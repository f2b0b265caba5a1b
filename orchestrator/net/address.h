#ifndef ORCHESTRATOR_NET_ADDRESS_H_
#define ORCHESTRATOR_NET_ADDRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// The port of a coordinator, unless another is given.
inline constexpr uint16_t kDefaultPort = 29400;

// A host, by name or address, and a TCP port. Pure: nothing is resolved.
struct HostPort {
  // Without brackets: "node7", "10.0.0.3", "fd00::3", "fe80::3%eth0".
  std::string host;
  uint16_t port = kDefaultPort;

  // "node7:29400", "[fd00::3]:29400".
  std::string ToString() const;

  bool operator==(const HostPort&) const = default;
};

// Reads "node7", "node7:29500", "10.0.0.3:29500", "fd00::3" (an address: the port is the default),
// "[fd00::3]:29500". InvalidArgument: says what is wrong with the text.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text,
                                       uint16_t default_port = kDefaultPort);

// An inclusive range of ports to listen on; {0, 0}: any that is free.
struct PortRange {
  uint16_t first = kDefaultPort;
  uint16_t last = kDefaultPort;

  bool operator==(const PortRange&) const = default;
};

// Reads "29400", "29400-29499", "0". InvalidArgument otherwise.
absl::StatusOr<PortRange> ParsePortRange(absl::string_view text);

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_ADDRESS_H_
