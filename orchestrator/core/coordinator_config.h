#ifndef ORCHESTRATOR_CORE_COORDINATOR_CONFIG_H_
#define ORCHESTRATOR_CORE_COORDINATOR_CONFIG_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "orchestrator/wire/agent_messages.h"

namespace autobatch {

// What becomes of a device that has no batch: its probe failed, or nothing fits.
enum class FailedDevicePolicy {
  kFail,     // The run ends, naming it: nobody trains on fewer devices than they asked for.
  kExclude,  // The run goes on without it; an agent without any other device waits in reserve.
};
BOOST_DESCRIBE_ENUM(FailedDevicePolicy, kFail, kExclude)

// Whether the minimum is also taken by NCCL.
enum class ReduceMode {
  kOff,
  kPrefer,   // Tried; where NCCL fails on a node, the reports decide alone, and it is said.
  kRequire,  // A round without it ends.
};
BOOST_DESCRIBE_ENUM(ReduceMode, kOff, kPrefer, kRequire)

// The rules of one run. Every duration is a limit of a wait on the steady clock.
struct CoordinatorConfig {
  std::string run_id;

  // Nodes, not agents: agents with one boot id are one node. A round starts at once with
  // `max_nodes`, and after the last call with fewer.
  int64_t min_nodes = 1;
  int64_t max_nodes = 1;
  // Agents that should come, by name, where that is known (a host list): only to say who is
  // missing.
  std::vector<std::string> expected;
  // Agents that may be members at once, those in reserve included; each costs a few KiB.
  int64_t max_members = 4096;

  // How often agents say that they live, and how many of those may bring nothing new before the
  // agent is lost. Five seconds let a busy host miss a few.
  absl::Duration heartbeat = absl::Seconds(1);
  int64_t lost_after = 5;
  // Heartbeats that an agent whose connection broke has to come back. One less is its lease: so
  // long it may still let training start on the record that stands, and nothing newer is committed.
  int64_t reconnect_grace = 3;

  // From the start, or from when there were too few, until there are enough nodes.
  absl::Duration join_timeout = absl::Seconds(600);
  // How long others may still come once there are enough. Starting without a node that was a second
  // late costs its whole GPUs until the next round.
  absl::Duration last_call = absl::Seconds(5);
  // For the reports. Probing large models takes minutes; agents that die meanwhile are noticed by
  // their heartbeats.
  absl::Duration report_timeout = absl::Seconds(3600);
  // For one attempt of NCCL: its own bootstrap takes a minute on large clusters.
  absl::Duration reduce_timeout = absl::Seconds(120);
  int64_t reduce_attempts = 2;
  // For everybody to write the record, and again for everybody to confirm the commit.
  absl::Duration commit_timeout = absl::Seconds(10);

  FailedDevicePolicy failed_device = FailedDevicePolicy::kFail;
  ReduceMode reduce = ReduceMode::kOff;
  // The run ends with its first commit; otherwise a loss or a late joiner starts a next round.
  bool once = false;

  // What a record follows from beside the reports (the plan's rule, its global batch, …), by the
  // user's names for it: kept with the commit, and compared by who takes over.
  std::vector<NamedValue> options;
};

// InvalidArgument names the field, its value, and what would be right.
absl::Status ValidateConfig(const CoordinatorConfig& config);

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_COORDINATOR_CONFIG_H_
