#include "orchestrator/dialect/loopback.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace autobatch {

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
