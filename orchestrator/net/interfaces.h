#ifndef ORCHESTRATOR_NET_INTERFACES_H_
#define ORCHESTRATOR_NET_INTERFACES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// One network interface of this host.
struct Interface {
  std::string name;
  bool up = false;
  bool loopback = false;
  // IPv4 and IPv6, without a zone; what only holds on the link itself comes last.
  std::vector<std::string> addresses;
};

// All of this host, by name. Errors of the kernel.
absl::StatusOr<std::vector<Interface>> SystemInterfaces();

// Whether an address is in a network ("10.1.0.0/16", "fd00::/64"). InvalidArgument: that is none.
absl::StatusOr<bool> IsInNetwork(absl::string_view network, absl::string_view address);

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_INTERFACES_H_
