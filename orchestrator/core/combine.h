#ifndef ORCHESTRATOR_CORE_COMBINE_H_
#define ORCHESTRATOR_CORE_COMBINE_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orchestrator/core/agreed_record.h"
#include "orchestrator/core/coordinator_config.h"
#include "orchestrator/wire/agent_messages.h"

namespace autobatch {

// One member's part of a round that everybody has reported for.
struct Contribution {
  absl::string_view agent;
  absl::string_view boot_id;
  const LauncherClaims* claims = nullptr;
  const std::vector<DeviceOutcome>* outcomes = nullptr;
};

// Why a round cannot have a record.
struct RoundFailure {
  int exit_code = 0;
  std::string reason;
};

struct Combined {
  // Absent: the facts are there.
  std::optional<RoundFailure> failure;
  // Members, their devices and ranks, and the minimum; the rest is the caller's.
  RoundFacts facts;
  // Agents without any device that can train, left out by policy.
  std::vector<std::string> excluded;
  // What was decided by policy, for people.
  std::vector<std::string> notes;
};

// The minimum over every device of every member, whose order is that of the ranks. A device with
// batch 0 ends the round or is left out, by `policy`; claims of the launcher that contradict who is
// there end it.
Combined Combine(std::span<const Contribution> contributions, FailedDevicePolicy policy,
                 int64_t max_nodes);

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_COMBINE_H_
