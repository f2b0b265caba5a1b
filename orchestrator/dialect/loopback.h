#ifndef ORCHESTRATOR_DIALECT_LOOPBACK_H_
#define ORCHESTRATOR_DIALECT_LOOPBACK_H_

#include "absl/strings/string_view.h"

namespace autobatch {

// Whether the host means, on every machine, that machine itself: localhost in its spellings,
// 127.0.0.0/8 (Debian resolves a host's own name to 127.0.1.1), ::1, either mapped into IPv6, and
// the addresses that mean "any".
bool IsLoopback(absl::string_view host);

}  // namespace autobatch

#endif  // ORCHESTRATOR_DIALECT_LOOPBACK_H_
