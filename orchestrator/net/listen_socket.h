#ifndef ORCHESTRATOR_NET_LISTEN_SOCKET_H_
#define ORCHESTRATOR_NET_LISTEN_SOCKET_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "orchestrator/net/address.h"

namespace autobatch {

// A listening socket on the first free port of the range. "::" takes IPv4 peers too; on a machine
// without IPv6 it is 0.0.0.0. AlreadyExists: every port is taken; the text says by whom, where that
// can be known, and what to do. InvalidArgument: not an address of this machine.
absl::StatusOr<boost::asio::ip::tcp::acceptor> OpenListenSocket(
    const boost::asio::any_io_executor& executor, const std::string& bind_address, PortRange ports);

// Where a socket listens.
HostPort AddressOf(const boost::asio::ip::tcp::acceptor& acceptor);

// An endpoint for people and logs: "10.0.0.3:41234", "[fd00::3]:41234"; an IPv4 peer of a socket
// for both families is written as IPv4.
std::string AddressText(const boost::asio::ip::tcp::endpoint& endpoint);
// The peer of a connected socket, or "a peer that is gone".
std::string PeerText(const boost::asio::ip::tcp::socket& socket);

// What the owner of the peer has one of: its IPv4 address, or the first 64 bits of its IPv6
// address.
std::string NetworkOf(const boost::asio::ip::tcp::socket& socket);

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_LISTEN_SOCKET_H_
