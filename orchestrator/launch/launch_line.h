#ifndef ORCHESTRATOR_LAUNCH_LAUNCH_LINE_H_
#define ORCHESTRATOR_LAUNCH_LAUNCH_LINE_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "orchestrator/dialect/environment.h"
#include "orchestrator/launch/share_output.h"
#include "orchestrator/service/worker_request.h"

namespace autobatch {

// What becomes of a running command when a new round is agreed.
enum class WorldChange { kKeep, kRestart, kStop };
BOOST_DESCRIBE_ENUM(WorldChange, kKeep, kRestart, kStop)

// Everything that `launch` was asked on its command line.
struct LaunchLine {
  // Where the record comes from; neither: agree here. Of a worker, `socket` is the agent that it
  // asks; else it is where the agent hosted here listens (empty: a default).
  std::string socket;
  std::string record;
  // Empty: any run.
  std::string run_id;
  std::string secret_file;
  std::optional<int64_t> secret_descriptor;
  absl::Duration wait = absl::Minutes(10);

  bool worker = false;
  // Processes.
  std::optional<int64_t> world_size;
  bool allow_simulated = false;
  std::optional<int64_t> fallback_batch;
  // Absent: by what the command is.
  std::optional<WorldChange> when_world_changes;
  absl::Duration grace = absl::Seconds(10);
  // Interfaces for the ranks' own traffic; empty: the libraries' choice.
  std::string interface;
  // What this node exports beside the record's values, once that is known.
  std::vector<WorkerVariable> exports;

  // Instead of starting a command. At most one is set.
  std::optional<LaunchFormat> format;
  std::string publish;
  bool quiet = false;
  // Print this text and exit with 0.
  std::string print_and_exit;

  // Nodes of the run, for the coordinator that may be hosted here.
  std::optional<int64_t> min_nodes;
  std::optional<int64_t> max_nodes;
  // Where another coordinator is; empty: nobody says.
  std::string coordinator;
  // It is hosted here, whatever the launcher says.
  bool host_coordinator = false;
  // What is probed instead of a built-in workload; empty: that.
  std::vector<std::string> probe_command;
  // Options for the coordinator and the agent hosted here, as they were given: certificates for
  // both, what is to be agreed on, and the rest.
  std::vector<std::string> credential_arguments;
  std::vector<std::string> plan_arguments;
  std::vector<std::string> coordinator_arguments;
  std::vector<std::string> agent_arguments;
  // Behind "--", as it is.
  std::vector<std::string> command;
};

// Reads the arguments (without the program's name). Relative paths are resolved where the user
// stands; $AUTOBATCH_SOCKET, $AUTOBATCH_RECORD and $AUTOBATCH_RUN_ID of `environment` are defaults.
// InvalidArgument names the option and what would be right, settings that contradict each other
// included.
absl::StatusOr<LaunchLine> ParseLaunchLine(std::span<const std::string> arguments,
                                           const Environment& environment);

// Whether coordinator or agent are hosted here.
inline bool AgreesHere(const LaunchLine& line) { return !line.worker && line.record.empty(); }

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_LAUNCH_LINE_H_
