#include "orchestrator/dialect/endpoint.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

// What a host name, an IPv4 or IPv6 address with its zone ("fe80::1%eth0") are made of.
bool IsHostCharacter(char c) {
  return absl::ascii_isalnum(c) || absl::StrContains(".-_:%", absl::string_view(&c, 1));
}

absl::Status Malformed(absl::string_view text, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("address '", absl::CEscape(text), "': ", what,
                   "; right would be node1:29400, 10.0.0.1:29400 or [fd00::1]:29400"));
}

}  // namespace

absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view text, int64_t default_port) {
  Endpoint endpoint{.port = default_port};
  absl::string_view host = text;
  absl::string_view port;
  bool has_port = false;
  if (absl::ConsumePrefix(&host, "[")) {
    const size_t close = host.find(']');
    if (close == absl::string_view::npos) return Malformed(text, "the bracket is not closed");
    port = host.substr(close + 1);
    host = host.substr(0, close);
    if (!absl::StrContains(host, ":")) return Malformed(text, "brackets are for IPv6 addresses");
    has_port = absl::ConsumePrefix(&port, ":");
    if (!has_port && !port.empty()) return Malformed(text, "no ':' between bracket and port");
  } else if (std::count(host.begin(), host.end(), ':') == 1) {
    has_port = true;
    port = host.substr(host.find(':') + 1);
    host = host.substr(0, host.find(':'));
  }
  if (has_port &&
      (!absl::SimpleAtoi(port, &endpoint.port) || endpoint.port < 1 || endpoint.port > 65'535)) {
    return Malformed(text, "the port is no number from 1 to 65535");
  }
  if (host.empty()) return Malformed(text, "there is no host");
  if (!std::all_of(host.begin(), host.end(), IsHostCharacter) || host[0] == '-' ||
      host.size() > 253) {
    return Malformed(text, "this is no host name or address");
  }
  endpoint.host = std::string(host);
  return endpoint;
}

std::string EndpointText(const Endpoint& endpoint) {
  const bool ipv6 = absl::StrContains(endpoint.host, ":");
  return absl::StrCat(ipv6 ? "[" : "", endpoint.host, ipv6 ? "]:" : ":", endpoint.port);
}

bool IsLoopback(absl::string_view host) {
  const std::string lower = absl::AsciiStrToLower(host);
  absl::string_view name = lower;
  name = name.substr(0, name.find('%'));
  absl::ConsumeSuffix(&name, ".");
  for (const absl::string_view mapped : {"::ffff:", "0:0:0:0:0:ffff:"}) {
    if (absl::ConsumePrefix(&name, mapped)) break;
  }
  // A dotted name such as 127.example.org is none.
  const bool dotted = std::all_of(name.begin(), name.end(),
                                  [](char c) { return c == '.' || absl::ascii_isdigit(c); });
  if (dotted && absl::StartsWith(name, "127.")) return true;
  if (absl::StrContains(name, ":") && std::all_of(name.begin(), name.end(), [](char c) {
        return c == ':' || c == '0' || c == '1';
      })) {
    // ::, ::1 and their long forms: nothing but zeros before a last 0 or 1.
    const absl::string_view last = name.substr(name.rfind(':') + 1);
    const absl::string_view before = name.substr(0, name.size() - last.size());
    const size_t one = last.find('1');
    return !absl::StrContains(before, "1") &&
           (one == absl::string_view::npos || one + 1 == last.size());
  }
  return name == "0.0.0.0" || name == "localhost" || absl::EndsWith(name, ".localhost") ||
         absl::StartsWith(name, "localhost.") || absl::StartsWith(name, "localhost4") ||
         absl::StartsWith(name, "localhost6") || name == "ip6-localhost" || name == "ip6-loopback";
}

}  // namespace autobatch
