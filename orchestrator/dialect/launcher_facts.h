#ifndef ORCHESTRATOR_DIALECT_LAUNCHER_FACTS_H_
#define ORCHESTRATOR_DIALECT_LAUNCHER_FACTS_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace autobatch {

// Whose variables these are. kEnv: RANK and WORLD_SIZE of an unknown hand (PyTorch's env:// rule),
// such as DeepSpeed's launcher or a script's own export.
enum class Dialect { kNone, kTorchrun, kEnv, kSlurm, kOpenMpi, kMpich, kKubeflow };
BOOST_DESCRIBE_ENUM(Dialect, kNone, kTorchrun, kEnv, kSlurm, kOpenMpi, kMpich, kKubeflow)

// What WORLD_SIZE counts. Kubeflow has changed its meaning between versions; kBoth: one process a
// node, where it makes no difference.
enum class WorldSizeCounts { kUnknown, kProcesses, kNodes, kBoth };
BOOST_DESCRIBE_ENUM(WorldSizeCounts, kUnknown, kProcesses, kNodes, kBoth)

// One form for what every launcher says. A field is absent where the launcher does not say it;
// nothing is guessed. Ranks count processes, in [0, world_size).
struct LauncherFacts {
  Dialect dialect = Dialect::kNone;
  // Launchers around it, from the inside out: Slurm around torchrun.
  std::vector<Dialect> outer;
  std::optional<int64_t> rank;
  std::optional<int64_t> local_rank;
  std::optional<int64_t> world_size;
  std::optional<int64_t> local_world_size;
  std::optional<int64_t> node_rank;
  std::optional<int64_t> node_count;
  // An elastic job's bounds, where told.
  std::optional<int64_t> min_nodes;
  std::optional<int64_t> max_nodes;
  WorldSizeCounts world_size_counts = WorldSizeCounts::kUnknown;
  // The launcher's name for this run; empty where it has none or a default that is not unique.
  std::string run_id;
  // How often it was started again. No generation number: torchrun counts it for each agent, so
  // that ranks of one world disagree on it.
  std::optional<int64_t> restart_count;
  // This node's name to its launcher (several Slurm nodes may share one host name).
  std::string node_name;
  // Nodes of the step, in rank order; else of the allocation.
  std::vector<std::string> nodes;
  // Where the launcher's rank 0 is.
  std::string master_address;
  std::optional<int64_t> master_port;
};
BOOST_DESCRIBE_STRUCT(LauncherFacts, (),
                      (dialect, outer, rank, local_rank, world_size, local_world_size, node_rank,
                       node_count, min_nodes, max_nodes, world_size_counts, run_id, restart_count,
                       node_name, nodes, master_address, master_port))

}  // namespace autobatch

#endif  // ORCHESTRATOR_DIALECT_LAUNCHER_FACTS_H_
