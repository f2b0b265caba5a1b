#ifndef ORCHESTRATOR_LAUNCH_WORLD_COMMAND_H_
#define ORCHESTRATOR_LAUNCH_WORLD_COMMAND_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/dialect/environment.h"
#include "orchestrator/dialect/launcher_facts.h"
#include "orchestrator/launch/training_values.h"
#include "orchestrator/plan/record.h"

namespace autobatch {

// A command that starts all ranks of a world (torchrun, srun, mpirun, a script, one process).
struct WorldCommand {
  std::vector<std::string> command;
  // Its ranks may become more or fewer while it runs.
  bool elastic = false;
  // Processes that it says it starts, if it says so; a number of nodes times "one a device" is
  // `nodes` with `one_a_device`.
  std::optional<int64_t> processes;
  int64_t nodes = 1;
  // Fewer than `nodes` only where it is elastic.
  int64_t min_nodes = 1;
  bool one_a_device = false;
  // Who starts the ranks of a node in it, for texts ("torchrun", "accelerate launch"), and what
  // they find themselves by; empty: nobody that is known.
  std::string launcher;
  Dialect dialect = Dialect::kNone;
  // So many ranks a node, where that is known; `uncounted`: it says so where that is not read.
  std::optional<int64_t> processes_a_node;
  bool uncounted = false;
  // It says that its world has one node.
  bool one_node = false;
  bool starts_ranks() const { return !launcher.empty(); }
};

// Reads the command. InvalidArgument: its launcher would refuse it, or starts a number of ranks
// that cannot be known here, `world_size` (the user's word, if any) contradicts it, or it is
// elastic and holds a placeholder, whose value would be that of the first world for ever; names the
// per-worker form then, with `launch_program` in it.
absl::StatusOr<WorldCommand> ReadWorldCommand(std::span<const std::string> command,
                                              const Environment& environment,
                                              std::optional<int64_t> world_size,
                                              absl::string_view launch_program);

// What `facts`, of the launcher around it, say of training. A launcher that starts this command on
// each node counts its tasks, and those are no ranks where the command starts the ranks itself:
// then the command's own counts are in their place. `single_node`: all its processes are here.
LauncherFacts FactsOfTraining(const WorldCommand& world, const LauncherFacts& facts,
                              bool single_node);

// What it is handed: of the row for its world, on nodes of `devices` each (absent: not known, and
// the record's own world is taken for a command that does not say). NotFound: no row for it.
absl::StatusOr<TrainingValues> ValuesFor(const WorldCommand& world, const Record& record,
                                         const std::string& record_path,
                                         std::optional<int64_t> devices);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_WORLD_COMMAND_H_
