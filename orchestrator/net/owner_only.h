#ifndef ORCHESTRATOR_NET_OWNER_ONLY_H_
#define ORCHESTRATOR_NET_OWNER_ONLY_H_

#include <string>

#include "absl/status/status.h"

namespace autobatch {

// PermissionDenied unless this open descriptor is a file that nobody but its owner can read or
// write, and the owner is this user or root; the message names the file and says what to do.
absl::Status CheckOwnerOnly(int descriptor, const std::string& name);

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_OWNER_ONLY_H_
