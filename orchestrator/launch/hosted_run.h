#ifndef ORCHESTRATOR_LAUNCH_HOSTED_RUN_H_
#define ORCHESTRATOR_LAUNCH_HOSTED_RUN_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/dialect/launcher_facts.h"
#include "orchestrator/launch/launch_line.h"
#include "orchestrator/launch/world_command.h"
#include "orchestrator/plan/plan_request.h"
#include "orchestrator/service/agent_flags.h"
#include "orchestrator/service/coordinator_flags.h"

namespace autobatch {

// What `launch` hosts where it agrees itself: this node's agent, and the coordinator if that is
// this node's to host.
struct HostedRun {
  AgentFlags agent;
  // Absent: it is elsewhere, where `agent.coordinator` says.
  std::optional<CoordinatorFlags> coordinator;
  // Nodes that are expected, at most.
  int64_t nodes = 1;
  // What is to be agreed on; a default where that is only the coordinator's to know.
  PlanRequest plan;
  // What the agent is to believe of the ranks that will train.
  LauncherFacts launcher;
  // One node, and no secret was given: one is made on the spot, and never leaves this process.
  bool own_secret = false;
};

// `unique` is a word for the run id of a single node that has no other. InvalidArgument names the
// option, or says what is missing: a secret, a run id, the address of a coordinator.
absl::StatusOr<HostedRun> PlanHostedRun(const LaunchLine& line, const LauncherFacts& launcher,
                                        const WorldCommand& world, absl::string_view unique);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_HOSTED_RUN_H_
