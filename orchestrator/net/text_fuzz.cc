// Texts that come from outside: addresses and port ranges of flags, the identity that a stranger
// presents, the kernel's table of sockets, and whatever goes into the log. No crash; what was
// understood is written and read again as the same; no line of the log breaks out of its line.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <string>

#include "absl/strings/string_view.h"
#include "orchestrator/net/address.h"
#include "orchestrator/net/advertise_address.h"
#include "orchestrator/net/port_holder.h"
#include "orchestrator/net/psk_identity.h"
#include "orchestrator/net/refusal_log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto address = autobatch::ParseHostPort(text); address.ok()) {
    const auto again = autobatch::ParseHostPort(address->ToString());
    if (!again.ok() || !(*again == *address)) abort();
  }
  if (const auto range = autobatch::ParsePortRange(text);
      range.ok() && range->first > range->last) {
    abort();
  }
  if (const auto identity = autobatch::ParsePskIdentity(text); identity.ok()) {
    if (autobatch::FormatPskIdentity(*identity).value() != text) abort();
  }
  autobatch::IsLoopbackHost(text);
  autobatch::ListeningInodes(text, 29400);
  for (const char c : autobatch::EscapeForLog(text)) {
    if (c < ' ' || c > '~') abort();
  }
  return 0;
}
