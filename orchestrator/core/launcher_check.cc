#include "orchestrator/core/launcher_check.h"

#include <algorithm>
#include <optional>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

// All agents of one boot id.
struct Node {
  // The first of them speaks for it.
  const LauncherView* first = nullptr;
  int64_t devices = 0;
  // Ranks that are not yet given to one of its agents.
  int64_t ranks_left = 0;
};

// The first agent that claims something, against the others.
class Agreement {
 public:
  explicit Agreement(absl::string_view what) : what_(what) {}

  void Add(const LauncherView& view, const std::optional<int64_t>& claim,
           std::vector<std::string>& contradictions) {
    if (!claim.has_value()) return;
    if (!value_.has_value()) {
      value_ = claim;
      agent_ = view.agent;
    } else if (*value_ != *claim && !said_) {
      contradictions.push_back(absl::StrCat("the launcher says ", what_, " ", *value_, " on ",
                                            agent_, " and ", *claim, " on ", view.agent));
      said_ = true;  // once: one wrong node of a thousand would fill a page
    }
  }

  const std::optional<int64_t>& value() const { return value_; }

 private:
  absl::string_view what_;
  absl::string_view agent_;
  std::optional<int64_t> value_;
  bool said_ = false;
};

void CheckNode(const Node& node, std::vector<std::string>& contradictions) {
  const std::optional<int64_t>& started = node.first->claims.local_world_size;
  if (!started.has_value() || *started <= node.devices) return;
  contradictions.push_back(absl::StrCat("the launcher starts ", *started,
                                        " processes on the node of ", node.first->agent, ", where ",
                                        node.devices, " devices can train"));
}

}  // namespace

LauncherVerdict CheckLaunchers(std::span<const LauncherView> views, int64_t max_nodes) {
  LauncherVerdict verdict;
  absl::btree_map<absl::string_view, Node> nodes;
  absl::btree_map<absl::string_view, Agreement> local_sizes;
  Agreement world("WORLD_SIZE");
  Agreement count("a number of nodes of");
  for (const LauncherView& view : views) {
    world.Add(view, view.claims.world_size, verdict.contradictions);
    count.Add(view, view.claims.node_count, verdict.contradictions);
    local_sizes.try_emplace(view.boot_id, "LOCAL_WORLD_SIZE")
        .first->second.Add(view, view.claims.local_world_size, verdict.contradictions);
    Node& node = nodes[view.boot_id];
    if (node.first == nullptr) node.first = &view;
    node.devices += view.devices;
  }
  int64_t ranks = 0;
  for (auto& [boot_id, node] : nodes) {
    CheckNode(node, verdict.contradictions);
    node.ranks_left =
        std::min(node.devices, node.first->claims.local_world_size.value_or(node.devices));
    ranks += node.ranks_left;
  }
  for (const LauncherView& view : views) {
    Node& node = nodes[view.boot_id];
    const int64_t own = std::min(view.devices, node.ranks_left);
    node.ranks_left -= own;
    verdict.ranks.push_back(own);
  }
  const int64_t node_count = static_cast<int64_t>(nodes.size());
  if (count.value().has_value() && *count.value() < node_count) {
    verdict.contradictions.push_back(absl::StrCat("the launcher says that the job has ",
                                                  *count.value(), " nodes, and ", node_count,
                                                  " are here"));
  }
  const bool whole = node_count == count.value().value_or(max_nodes);
  if (whole && world.value().has_value() && *world.value() != ranks) {
    const bool counts_nodes = *world.value() == node_count;
    verdict.contradictions.push_back(
        absl::StrCat("the launcher says WORLD_SIZE ", *world.value(), ", and the ", node_count,
                     " nodes that are here have ", ranks, " ranks",
                     counts_nodes ? ": it seems to count nodes where processes are due" : ""));
  }
  return verdict;
}

}  // namespace autobatch
