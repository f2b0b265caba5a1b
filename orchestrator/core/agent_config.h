#ifndef ORCHESTRATOR_CORE_AGENT_CONFIG_H_
#define ORCHESTRATOR_CORE_AGENT_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "orchestrator/wire/messages.h"

namespace autobatch {

// Who an agent is, and how long it waits. Every duration is a limit on the steady clock.
struct AgentConfig {
  // What it announces: run, names, devices, facts, settings. Round and digests are filled in as
  // they come; `incarnation` is a random word for this start of the program, to which the agent
  // adds a counter, since it joins anew after it was given up.
  AgentHello hello;

  // From the start until the coordinator has let it in. A coordinator may come up minutes after its
  // agents.
  absl::Duration join_timeout = absl::Seconds(600);
  // From a connection to the coordinator's answer to the hello.
  absl::Duration hello_timeout = absl::Seconds(10);
  // Without any sign of the coordinator, and with no record committed. The heartbeats' interval and
  // limit come with the welcome; this is for finding it again after those.
  absl::Duration lost_timeout = absl::Seconds(7);
  // The same once a record is committed: training goes on, so there is time for a coordinator to be
  // started again.
  absl::Duration rejoin_timeout = absl::Seconds(600);
  // How long a name, rank or device that another agent has is asked for again: that agent may be
  // this one's earlier start, and its loss not yet noticed.
  absl::Duration duplicate_patience = absl::Seconds(7);
  // Between attempts to connect: doubled from the first to the last, and spread by up to half, so
  // that a thousand agents do not come at once.
  absl::Duration first_backoff = absl::Milliseconds(100);
  absl::Duration last_backoff = absl::Seconds(2);

  // The agent is done once it has confirmed its first commit.
  bool once = false;
};

// InvalidArgument names the field, its value, and what would be right.
absl::Status ValidateConfig(const AgentConfig& config);

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_AGENT_CONFIG_H_
