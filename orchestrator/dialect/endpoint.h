#ifndef ORCHESTRATOR_DIALECT_ENDPOINT_H_
#define ORCHESTRATOR_DIALECT_ENDPOINT_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// Where something listens.
struct Endpoint {
  // A name, an IPv4 address, or an IPv6 address without brackets.
  std::string host;
  int64_t port = 0;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};
BOOST_DESCRIBE_STRUCT(Endpoint, (), (host, port))

// Reads "host", "host:29400", "10.0.0.1:29400", "fe80::1", "[fe80::1]:29400"; a port that is not
// given is `default_port`. InvalidArgument says what would be right.
absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view text, int64_t default_port);

// "host:29400", "[fe80::1]:29400".
std::string EndpointText(const Endpoint& endpoint);

// Whether the host means, on every machine, that machine itself: localhost in its spellings,
// 127.0.0.0/8 (Debian resolves a host's own name to 127.0.1.1), ::1, either mapped into IPv6, and
// the addresses that mean "any".
bool IsLoopback(absl::string_view host);

}  // namespace autobatch

#endif  // ORCHESTRATOR_DIALECT_ENDPOINT_H_
