#ifndef ORCHESTRATOR_WIRE_FOREIGN_PROTOCOL_H_
#define ORCHESTRATOR_WIRE_FOREIGN_PROTOCOL_H_

#include "absl/strings/string_view.h"

namespace autobatch {

// What a stranger that opened with these bytes is most likely speaking, for a log line: "HTTP",
// "TLS", "autobatch without TLS", "NCCL" ... or "an unknown protocol". 16 bytes are enough.
absl::string_view ForeignProtocol(absl::string_view first_bytes);

}  // namespace autobatch

#endif  // ORCHESTRATOR_WIRE_FOREIGN_PROTOCOL_H_
