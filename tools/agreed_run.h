#ifndef TOOLS_AGREED_RUN_H_
#define TOOLS_AGREED_RUN_H_

#include "orchestrator/dialect/environment.h"
#include "orchestrator/dialect/launcher_facts.h"
#include "orchestrator/launch/launch_line.h"
#include "orchestrator/launch/signal_relay.h"
#include "orchestrator/launch/world_command.h"

namespace autobatch {

// All ranks, on what this program and its like on the other nodes agree on: hosts this node's agent
// (and the coordinator, where that is this node's), starts the command on the committed record, and
// does by policy what a later round asks. Returns the program's exit code. `environment` is the
// command's, for hosting simulated devices changes this process's own.
int RunAgreed(const LaunchLine& line, const WorldCommand& world, const Environment& environment,
              const LauncherFacts& launcher, SignalRelay& signals);

}  // namespace autobatch

#endif  // TOOLS_AGREED_RUN_H_
