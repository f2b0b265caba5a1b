#include "orchestrator/net/address.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

// A name of DNS has up to 253 characters; an address with a zone fits too.
constexpr size_t kMaximumHost = 253;

absl::StatusOr<uint16_t> ParsePort(absl::string_view text) {
  int value = 0;
  // SimpleAtoi would take blanks and a sign.
  if (text.empty() || text.size() > 5 ||
      text.find_first_not_of("0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(text, &value) || value > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", absl::CHexEscape(text.substr(0, 40)), "' is no port (0 to 65535)"));
  }
  return static_cast<uint16_t>(value);
}

absl::Status BadHost(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", absl::CHexEscape(text.substr(0, kMaximumHost)),
                   "' is no address of the form ", "host, host:port or [IPv6]:port: ", why));
}

}  // namespace

std::string HostPort::ToString() const {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port)
                                      : absl::StrCat(host, ":", port);
}

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text, uint16_t default_port) {
  HostPort result{.port = default_port};
  absl::string_view host = text;
  absl::string_view port;
  bool has_port = false;
  if (absl::ConsumePrefix(&host, "[")) {
    const size_t close = host.find(']');
    if (close == absl::string_view::npos) return BadHost(text, "a bracket is not closed");
    port = host.substr(close + 1);
    host = host.substr(0, close);
    has_port = absl::ConsumePrefix(&port, ":");
    if (!has_port && !port.empty()) return BadHost(text, "only :port may follow the bracket");
    if (!absl::StrContains(host, ':')) return BadHost(text, "brackets are for IPv6 addresses");
  } else if (const size_t colon = host.find(':');
             colon != absl::string_view::npos &&
             host.find(':', colon + 1) == absl::string_view::npos) {
    // More than one colon is an IPv6 address without a port.
    port = host.substr(colon + 1);
    host = host.substr(0, colon);
    has_port = true;
  }
  if (host.empty()) return BadHost(text, "there is no host in it");
  if (host.size() > kMaximumHost) return BadHost(text, "a host has at most 253 characters");
  for (char c : host) {
    if (!absl::ascii_isalnum(c) && !absl::StrContains("-._:%", absl::string_view(&c, 1))) {
      return BadHost(text, "a host has letters, digits, '-', '_' and '.' only");
    }
  }
  if (has_port) {
    AB_ASSIGN_OR_RETURN(result.port, ParsePort(port));
  }
  result.host = std::string(host);
  return result;
}

absl::StatusOr<PortRange> ParsePortRange(absl::string_view text) {
  PortRange range;
  const size_t dash = text.find('-');
  AB_ASSIGN_OR_RETURN(range.first, ParsePort(text.substr(0, dash)));
  range.last = range.first;
  if (dash != absl::string_view::npos) {
    AB_ASSIGN_OR_RETURN(range.last, ParsePort(text.substr(dash + 1)));
  }
  if (range.last < range.first || (range.first == 0 && range.last != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no range of ports: first-last, or 0 for any free one"));
  }
  return range;
}

}  // namespace autobatch
