#ifndef ORCHESTRATOR_DIALECT_DISCOVERY_H_
#define ORCHESTRATOR_DIALECT_DISCOVERY_H_

#include <boost/describe.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orchestrator/dialect/endpoint.h"
#include "orchestrator/dialect/launcher_facts.h"

namespace autobatch {

enum class EndpointSource { kGiven, kLauncherRankZero, kFirstHostOfStep, kThisNode };
BOOST_DESCRIBE_ENUM(EndpointSource, kGiven, kLauncherRankZero, kFirstHostOfStep, kThisNode)

struct DiscoveryRequest {
  // What the user said, as "host:port"; empty: nothing.
  std::string given;
  // For whatever names no port of ours; PortOfRun() of the run.
  int64_t default_port = 0;
  // More nodes than this one are expected, whatever the launcher says.
  std::optional<int64_t> node_count;
};

struct Discovered {
  Endpoint endpoint;
  EndpointSource source = EndpointSource::kGiven;
  // "MASTER_ADDR of torchrun": for the log.
  std::string why;
  // This node is the one that the endpoint names, as far as the launcher says.
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
