#ifndef ORCHESTRATOR_NET_RESOLVER_H_
#define ORCHESTRATOR_NET_RESOLVER_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "orchestrator/net/address.h"

namespace autobatch {

// Names to addresses.
class Resolver {
 public:
  using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;
  virtual ~Resolver() = default;

  // Every address of the host, at least one, in the order in which they should be tried: IPv6 and
  // IPv4 by turns (RFC 8305), beginning with what the system prefers. NotFound: there is no such
  // name (yet: a pod's name may come later); Unavailable: the name servers do not answer.
  virtual boost::asio::awaitable<absl::StatusOr<Endpoints>> Resolve(HostPort address) = 0;

  // By getaddrinfo, on a thread of its own for each call: a slow name server holds up nothing, not
  // even the end of the program, and a cancelled call is abandoned at once. Addresses as text are
  // read, not resolved.
  static std::unique_ptr<Resolver> System(boost::asio::any_io_executor executor);
};

// The order in which addresses should be tried, from the system's. Pure.
Resolver::Endpoints ByTurns(Resolver::Endpoints endpoints);

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_RESOLVER_H_
