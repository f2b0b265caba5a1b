#ifndef ORCHESTRATOR_CORE_LAUNCHER_CHECK_H_
#define ORCHESTRATOR_CORE_LAUNCHER_CHECK_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "orchestrator/wire/agent_messages.h"

namespace autobatch {

// What one agent of a round claims, and what it has.
struct LauncherView {
  absl::string_view agent;
  // Agents with one boot id are one node.
  absl::string_view boot_id;
  LauncherClaims claims;
  // That can train.
  int64_t devices = 0;
};

struct LauncherVerdict {
  // Where the claims contradict each other or the devices, in words; empty: nowhere.
  std::vector<std::string> contradictions;
  // Ranks that each agent's devices are started with: its devices, or fewer where the launcher
  // starts fewer processes on the node.
  std::vector<int64_t> ranks;
};

// Compares what the launcher says with who is there. Sums are compared once the round is as large
// as the launcher's job: `max_nodes` nodes where it does not say how many it has. Nothing is chosen
// silently: a WORLD_SIZE that counts nodes is a contradiction too, and is called by its name.
LauncherVerdict CheckLaunchers(std::span<const LauncherView> views, int64_t max_nodes);

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_LAUNCHER_CHECK_H_
