#include "orchestrator/net/listen_socket.h"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/v6_only.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "orchestrator/net/net_status.h"
#include "orchestrator/net/port_holder.h"

namespace autobatch {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// The kernel cuts it to net.core.somaxconn, 4096 by default: a whole cluster may call at once.
constexpr int kBacklog = 4096;

error_code TryListen(tcp::acceptor& acceptor, const tcp::endpoint& endpoint) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (error) return error;
  // A restarted coordinator takes its port over from connections that are still in TIME_WAIT.
  acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && endpoint.address().is_v6()) {
    acceptor.set_option(boost::asio::ip::v6_only(!endpoint.address().is_unspecified()), error);
  }
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(kBacklog, error);
  if (error) {
    error_code ignored;
    acceptor.close(ignored);
  }
  return error;
}

boost::asio::ip::address Unmapped(const boost::asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6());
  }
  return address;
}

absl::Status PortsTaken(PortRange ports) {
  if (ports.first == ports.last) {
    return absl::AlreadyExistsError(absl::StrCat(
        "port ", ports.first, " is in use", HolderOfPort(ports.first),
        "; end that, or choose another port or a range (--port 0 takes any free one)"));
  }
  return absl::AlreadyExistsError(absl::StrCat(
      "every port from ", ports.first, " to ", ports.last, " is in use, the first",
      HolderOfPort(ports.first), "; choose other ports (--port 0 takes any free one)"));
}

}  // namespace

absl::StatusOr<tcp::acceptor> OpenListenSocket(const boost::asio::any_io_executor& executor,
                                               const std::string& bind_address, PortRange ports) {
  error_code error;
  boost::asio::ip::address address = boost::asio::ip::make_address(bind_address, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", bind_address, "' is no address to listen on: give an IPv4 or IPv6 address of this ",
        "machine, or :: for all"));
  }
  tcp::acceptor acceptor(executor);
  for (int port = ports.first; port <= ports.last; ++port) {
    error = TryListen(acceptor, tcp::endpoint(address, static_cast<uint16_t>(port)));
    if (error == boost::asio::error::address_family_not_supported && address.is_v6() &&
        address.is_unspecified()) {
      address = boost::asio::ip::address_v4::any();
      error = TryListen(acceptor, tcp::endpoint(address, static_cast<uint16_t>(port)));
    }
    if (!error) return acceptor;
    if (error != boost::asio::error::address_in_use) {
      return NetStatus(error, absl::StrCat("cannot listen on ",
                                           AddressText({address, static_cast<uint16_t>(port)})));
    }
  }
  return PortsTaken(ports);
}

HostPort AddressOf(const tcp::acceptor& acceptor) {
  error_code error;
  const tcp::endpoint endpoint = acceptor.local_endpoint(error);
  return {endpoint.address().to_string(), endpoint.port()};
}

std::string AddressText(const tcp::endpoint& endpoint) {
  return HostPort{Unmapped(endpoint.address()).to_string(), endpoint.port()}.ToString();
}

std::string PeerText(const tcp::socket& socket) {
  error_code error;
  const tcp::endpoint endpoint = socket.remote_endpoint(error);
  return error ? "a peer that is gone" : AddressText(endpoint);
}

std::string NetworkOf(const tcp::socket& socket) {
  error_code error;
  const auto address = Unmapped(socket.remote_endpoint(error).address());
  if (error) return "gone";
  if (address.is_v4()) return address.to_string();
  auto bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return boost::asio::ip::address_v6(bytes).to_string();
}

}  // namespace autobatch
