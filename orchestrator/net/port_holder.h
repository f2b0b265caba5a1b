#ifndef ORCHESTRATOR_NET_PORT_HOLDER_H_
#define ORCHESTRATOR_NET_PORT_HOLDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace autobatch {

// The inodes of the sockets that listen on `port`, from the text of /proc/net/tcp or tcp6. Lines
// that are not understood are left out.
std::vector<uint64_t> ListeningInodes(absl::string_view table, uint16_t port);

// " by pid 4711 (python3)", for a message; " by a process that this user cannot see", or
// "" when no listener was found (the port may be bound without listening, or on its way out).
std::string HolderOfPort(uint16_t port);

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_PORT_HOLDER_H_
