#include "orchestrator/dialect/discovery.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/dialect/loopback.h"
#include "orchestrator/dialect/read_launcher.h"

namespace autobatch {
namespace {

// Nodes that will be asked to connect; absent: nobody says.
std::optional<int64_t> NodeCount(const DiscoveryRequest& request, const LauncherFacts& facts) {
  std::optional<int64_t> count = request.node_count;
  for (const std::optional<int64_t>& told : {facts.node_count, facts.max_nodes}) {
    if (told.has_value()) count = std::max(count.value_or(0), *told);
  }
  return count;
}

absl::Status Missing(const LauncherFacts& facts) {
  return absl::InvalidArgumentError(
      absl::StrCat("no coordinator: ",
                   facts.dialect == Dialect::kNone
                       ? "no launcher has left its variables here"
                       : absl::StrCat(DialectName(facts), " does not say where rank 0 is"),
                   "; give --coordinator HOST:PORT, where HOST is a name or address of the "
                   "coordinator's node that the other nodes can reach"));
}

}  // namespace

absl::Status CheckAdvertised(absl::string_view host, int64_t node_count) {
  if (node_count <= 1 || !IsLoopback(host)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", host, "' means each node itself, and ", node_count,
      " nodes are to connect to it; give a name or address that the other nodes can reach"));
}

absl::StatusOr<Discovered> DiscoverCoordinator(const DiscoveryRequest& request,
                                               const LauncherFacts& facts) {
  const std::optional<int64_t> nodes = NodeCount(request, facts);
  // A loopback address is given on purpose where nobody says that there are other nodes.
  const int64_t least_nodes = nodes.value_or(1);
  if (!request.given_host.empty()) {
    AB_RETURN_IF_ERROR(CheckAdvertised(request.given_host, least_nodes));
    return Discovered{.host = request.given_host, .why = "the address given"};
  }
  if (!facts.master_address.empty() && !(IsLoopback(facts.master_address) && nodes == 1)) {
    AB_RETURN_IF_ERROR(CheckAdvertised(facts.master_address, nodes.value_or(2)));
    return Discovered{.host = facts.master_address,
                      .source = HostSource::kLauncherRankZero,
                      .why = absl::StrCat("rank 0 of ", DialectName(facts)),
                      .here = facts.node_rank == 0};
  }
  if (facts.nodes.size() > 1 || (facts.nodes.size() == 1 && nodes != 1)) {
    AB_RETURN_IF_ERROR(CheckAdvertised(facts.nodes.front(), nodes.value_or(2)));
    return Discovered{.host = facts.nodes.front(),
                      .source = HostSource::kFirstHostOfStep,
                      .why = absl::StrCat("first host of the node list of ", DialectName(facts)),
                      .here = facts.node_name == facts.nodes.front()};
  }
  if (nodes != 1) return Missing(facts);
  return Discovered{
      .host = "127.0.0.1", .source = HostSource::kThisNode, .why = "the only node", .here = true};
}

}  // namespace autobatch
