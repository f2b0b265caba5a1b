#ifndef ORCHESTRATOR_SERVICE_COORDINATOR_FLAGS_H_
#define ORCHESTRATOR_SERVICE_COORDINATOR_FLAGS_H_

#include <boost/program_options.hpp>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "orchestrator/core/coordinator_config.h"
#include "orchestrator/dialect/launcher_facts.h"
#include "orchestrator/net/address.h"
#include "orchestrator/service/credential_flags.h"
#include "orchestrator/service/plan_flags.h"

namespace autobatch {

// Everything that `coordinator` was asked on its command line.
struct CoordinatorFlags {
  CoordinatorConfig config;
  PlanFlags plan;
  CredentialFlags credentials;
  std::string bind_address = "::";
  PortRange ports;
  // Where other nodes reach it; port 0: that which is bound. Absent: an address of this host.
  std::optional<HostPort> advertise_address;
  absl::Duration handshake_timeout = absl::Seconds(10);
  // Where rounds outlast a restart.
  std::string state_directory;
  // Files to write; empty: none. The address once it listens, the record of the last commit, the
  // report of all rounds ("-": stdout, at the end).
  std::string address_file;
  std::string record_file;
  std::string json_path;
  bool quiet = false;
  // Print this text and exit with 0.
  std::string print_and_exit;
};

// How long it waits: shared with whoever hosts a coordinator.
boost::program_options::options_description CoordinatorLimits();

// Reads the arguments (without the program's name); what they do not say may come from the
// launcher (its run id). InvalidArgument names the flag or value that is wrong, the nearest valid
// one and what would be right.
absl::StatusOr<CoordinatorFlags> ParseCoordinatorFlags(std::span<const std::string> arguments,
                                                       const LauncherFacts& launcher);

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_COORDINATOR_FLAGS_H_
