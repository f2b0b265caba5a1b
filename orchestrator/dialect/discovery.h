#ifndef ORCHESTRATOR_DIALECT_DISCOVERY_H_
#define ORCHESTRATOR_DIALECT_DISCOVERY_H_

#include <boost/describe.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orchestrator/dialect/launcher_facts.h"

namespace autobatch {

enum class HostSource { kGiven, kLauncherRankZero, kFirstHostOfStep, kThisNode };
BOOST_DESCRIBE_ENUM(HostSource, kGiven, kLauncherRankZero, kFirstHostOfStep, kThisNode)

struct DiscoveryRequest {
  // The host that the user named; empty: none.
  std::string given_host;
  // Nodes that are expected, whatever the launcher says.
  std::optional<int64_t> node_count;
};

struct Discovered {
  // A name or an address, without a port: the launcher's own port is taken by the launcher.
  std::string host;
  HostSource source = HostSource::kGiven;
  // "rank 0 of torchrun": for the log.
  std::string why;
  // This node is that host, as far as the launcher says.
  bool here = false;
};

// Where this run's coordinator is: the address given, else the launcher's rank 0 (with a port of
// ours: the launcher's own is taken), else the first host of the step's node list, else this node
// if it is the only one. Where srun was called says nothing about rank 0 and is not looked at.
// InvalidArgument, at once rather than by a time limit: nothing names it, or a loopback address
// would be handed to other nodes; says what would be right.
absl::StatusOr<Discovered> DiscoverCoordinator(const DiscoveryRequest& request,
                                               const LauncherFacts& facts);

// InvalidArgument if `host` is no address to hand to other nodes.
absl::Status CheckAdvertised(absl::string_view host, int64_t node_count);

}  // namespace autobatch

#endif  // ORCHESTRATOR_DIALECT_DISCOVERY_H_
