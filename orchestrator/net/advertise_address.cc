#include "orchestrator/net/advertise_address.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

using boost::asio::ip::address;
using boost::asio::ip::udp;
using boost::system::error_code;

// Addresses for documentation (RFC 5737, RFC 3849): nobody has them, so that the way to them is
// the default route.
constexpr char kNobody4[] = "192.0.2.1";
constexpr char kNobody6[] = "2001:db8::1";
constexpr uint16_t kAnyPort = 9;

address Unmapped(const address& from) {
  if (from.is_v6() && from.to_v6().is_v4_mapped()) {
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, from.to_v6());
  }
  return from;
}

// The local address of the route to `peer`; nothing where there is no route.
std::optional<address> LocalTowards(const address& peer) {
  boost::asio::io_context io(1);
  udp::socket socket(io);
  error_code error;
  // To connect a datagram socket is to choose a route; nothing is sent.
  socket.connect(udp::endpoint(peer, kAnyPort), error);
  if (error) return std::nullopt;
  const udp::endpoint local = socket.local_endpoint(error);
  if (error || local.address().is_unspecified()) return std::nullopt;
  return Unmapped(local.address());
}

}  // namespace

bool IsLoopbackHost(absl::string_view host) {
  const std::string text = absl::AsciiStrToLower(host);
  if (text == "localhost" || absl::EndsWith(text, ".localhost")) return true;
  error_code error;
  const address parsed = boost::asio::ip::make_address(text, error);
  return !error && Unmapped(parsed).is_loopback();
}

absl::StatusOr<std::string> AdvertiseAddress(const AdvertiseOptions& options) {
  const bool peer_is_here = IsLoopbackHost(options.peer);
  // A choice that leads others to themselves is refused, wherever it comes from.
  const auto usable = [&options, peer_is_here](const std::string& host,
                                               absl::string_view what) -> absl::Status {
    if (!IsLoopbackHost(host) || peer_is_here) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(what, " ", host, " is this host itself, which no other host can reach",
                     options.peer.empty() ? "" : absl::StrCat(" (", options.peer, " shall)"),
                     "; name an address of this host on the network by --advertise-address"));
  };
  if (!options.advertise.empty()) {
    if (absl::Status status = usable(options.advertise, "the advertised address"); !status.ok()) {
      return status;
    }
    return options.advertise;
  }
  error_code error;
  const address bound = boost::asio::ip::make_address(options.bind, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", options.bind, "' is no address to listen on"));
  }
  if (!bound.is_unspecified()) {
    if (absl::Status status = usable(options.bind, "the bound address"); !status.ok()) {
      return status;
    }
    return options.bind;
  }
  if (!options.peer.empty()) {
    const address peer = boost::asio::ip::make_address(options.peer, error);
    if (error) {
      return absl::InvalidArgumentError(absl::StrCat("'", options.peer, "' is no address"));
    }
    if (const auto local = LocalTowards(Unmapped(peer));
        local && (peer_is_here || !local->is_loopback())) {
      return local->to_string();
    }
    // The peer has one of our own addresses: it is this host, and reaches it.
    if (const auto local = LocalTowards(Unmapped(peer)); local) return Unmapped(peer).to_string();
    return absl::NotFoundError(absl::StrCat("there is no route to ", options.peer,
                                            "; name the address to reach this host by ",
                                            "--advertise-address"));
  }
  for (const char* nobody : {kNobody4, kNobody6}) {
    // A socket for IPv4 only cannot be reached over IPv6.
    if (bound.is_v4() && nobody == kNobody6) continue;
    const auto local = LocalTowards(boost::asio::ip::make_address(nobody));
    if (local && !local->is_loopback()) return local->to_string();
  }
  return absl::NotFoundError(
      "this host has no default route, so which of its addresses others reach is not known; name "
      "it by --advertise-address");
}

}  // namespace autobatch
