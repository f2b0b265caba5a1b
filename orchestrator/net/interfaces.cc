#include "orchestrator/net/interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <cerrno>
#include <map>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"

namespace autobatch {
namespace {

// Empty: of another family.
std::string AddressText(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text = {};
  if (address == nullptr) return "";
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  } else if (address->sa_family == AF_INET6) {
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  }
  if (bytes == nullptr) return "";
  const char* const made = inet_ntop(address->sa_family, bytes, text.data(), text.size());
  return made == nullptr ? "" : made;
}

bool IsLinkLocal(const std::string& address) {
  return address.starts_with("fe80:") || address.starts_with("169.254.");
}

}  // namespace

absl::StatusOr<std::vector<Interface>> SystemInterfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    return absl::ErrnoToStatus(errno, "cannot read this host's network interfaces");
  }
  const absl::Cleanup free_list = [list] { freeifaddrs(list); };
  std::map<std::string, Interface> found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    Interface& interface = found[entry->ifa_name];
    interface.name = entry->ifa_name;
    interface.up = (entry->ifa_flags & IFF_UP) != 0;
    interface.loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    const std::string address = AddressText(entry->ifa_addr);
    if (address.empty()) continue;
    std::vector<std::string>& addresses = interface.addresses;
    const auto last =
        IsLinkLocal(address) ? addresses.end() : std::ranges::find_if(addresses, IsLinkLocal);
    addresses.insert(last, address);
  }
  std::vector<Interface> interfaces;
  for (auto& [name, interface] : found) interfaces.push_back(std::move(interface));
  return interfaces;
}

absl::StatusOr<bool> IsInNetwork(absl::string_view network, absl::string_view address) {
  namespace ip = boost::asio::ip;
  boost::system::error_code error;
  const ip::address inside = ip::make_address(std::string(address), error);
  if (error) return false;
  const std::string text(network);
  if (const auto v4 = ip::make_network_v4(text, error); !error) {
    return inside.is_v4() &&
           ip::network_v4(inside.to_v4(), v4.prefix_length()).canonical() == v4.canonical();
  }
  if (const auto v6 = ip::make_network_v6(text, error); !error) {
    return inside.is_v6() &&
           ip::network_v6(inside.to_v6(), v6.prefix_length()).canonical() == v6.canonical();
  }
  return absl::InvalidArgumentError("no network such as 10.1.0.0/16 or fd00::/64");
}

}  // namespace autobatch
