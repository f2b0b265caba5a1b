#ifndef ORCHESTRATOR_SERVICE_AGENT_FLAGS_H_
#define ORCHESTRATOR_SERVICE_AGENT_FLAGS_H_

#include <boost/program_options.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "autobatch/probe/probe_spec.h"
#include "orchestrator/core/agent_config.h"
#include "orchestrator/dialect/launcher_facts.h"
#include "orchestrator/net/address.h"
#include "orchestrator/service/cached_prober.h"
#include "orchestrator/service/credential_flags.h"
#include "orchestrator/service/worker_server.h"
#include "orchestrator/wire/agent_messages.h"

namespace autobatch {

// Everything that an agent is asked on its command line. What it does not say comes from the
// launcher where that says it: run id, names, ranks, where the coordinator is.
struct AgentFlags {
  // What is probed, and how, as for `probe`.
  ProbeSpec probe;
  // Its limits, and of its hello what the flags say: run id, agent, boot_id (where given), node
  // rank. The rest is the node's to say.
  AgentConfig config;
  // Where the coordinator may be; empty: nobody says (a host of both knows).
  std::vector<HostPort> coordinator;
  // There will be no other node.
  bool alone = false;
  CredentialFlags credentials;
  // The user's own settings that must agree on all nodes.
  std::vector<NamedValue> settings;
  VerifyPolicy verify = VerifyPolicy::kFirst;
  absl::Duration release_timeout = absl::Seconds(30);
  bool nccl = true;
  absl::Duration connect_timeout = absl::Seconds(10);
  absl::Duration reduce_timeout = absl::Seconds(120);
  // Where the record and the workers' socket are.
  std::string state_directory;
  WorkerServerOptions workers;
  // The report of the devices ("-": stdout, at the end); empty: none.
  std::string json_path;
  bool quiet = false;
  // Print this text and exit with 0.
  std::string print_and_exit;

  std::string record_path() const { return state_directory + "/record.json"; }
};

// The options of an agent, without those of a probe (autobatch/probe:command_line_options), which
// it takes too.
boost::program_options::options_description AgentOptions();

// Reads the arguments (without the program's name); what follows "--" is the command that is
// probed. InvalidArgument names the flag or value that is wrong, the nearest valid one and what
// would be right.
absl::StatusOr<AgentFlags> ParseAgentFlags(std::span<const std::string> arguments,
                                           const LauncherFacts& launcher);

// Where an agent of this run leaves record and socket unless told otherwise: in $XDG_RUNTIME_DIR,
// else in /tmp, in a folder of this user's.
std::string DefaultAgentDirectory(const std::string& run_id);

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_AGENT_FLAGS_H_
