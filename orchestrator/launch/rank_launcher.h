#ifndef ORCHESTRATOR_LAUNCH_RANK_LAUNCHER_H_
#define ORCHESTRATOR_LAUNCH_RANK_LAUNCHER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "orchestrator/dialect/environment.h"
#include "orchestrator/dialect/launcher_facts.h"

namespace autobatch {

// What a command line says of its world that starts the ranks of a node as torchrun does, under
// another name.
struct RankLauncher {
  // "accelerate launch": for people.
  std::string name;
  // What its workers find themselves by.
  Dialect dialect = Dialect::kTorchrun;
  // Of its world; absent: it does not say.
  std::optional<int64_t> nodes;
  // Ranks of its world, with the option that says so. Absent: one for each device of its one node,
  // or not known if `uncounted`.
  std::optional<int64_t> processes;
  std::string said_by;
  bool uncounted = false;
  // Words in front of the training program; all of them where there is none.
  size_t program = 0;
};

// Reads `accelerate launch …` and `deepspeed …`, by path, name or `python -m`, also behind `env …`
// and the like, with what they would read themselves: accelerate's configuration file, whether
// there is DeepSpeed's host file. Some others are known by name only. Nothing for any other
// command. InvalidArgument, unless the user told the `world_size`: the option by which it starts
// another number of ranks than can be known here, and what to give instead; or a value that it
// would refuse, too.
absl::StatusOr<std::optional<RankLauncher>> ReadRankLauncher(std::span<const std::string> command,
                                                             const Environment& environment,
                                                             std::optional<int64_t> world_size);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_RANK_LAUNCHER_H_
