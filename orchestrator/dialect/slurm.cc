#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "orchestrator/dialect/hostlist.h"
#include "orchestrator/dialect/readers.h"

namespace autobatch {
namespace {

// Tasks of each node, as told; empty where not told or unreadable.
std::vector<int64_t> TaskCounts(EnvironmentReader& environment, absl::string_view name) {
  const std::string text = environment.Text(name);
  if (text.empty()) return {};
  absl::StatusOr<std::vector<int64_t>> counts = ExpandTaskCounts(text);
  if (counts.ok()) return *std::move(counts);
  environment.Problem(absl::StrCat(name, ": ", counts.status().message()));
  return {};
}

std::vector<std::string> Nodes(EnvironmentReader& environment, absl::string_view name) {
  const std::string text = environment.Text(name);
  if (text.empty()) return {};
  absl::StatusOr<std::vector<std::string>> nodes = ExpandHostlist(text);
  if (nodes.ok()) return *std::move(nodes);
  environment.Problem(absl::StrCat(name, ": ", nodes.status().message()));
  return {};
}

absl::string_view FirstPresent(const EnvironmentReader& environment, absl::string_view first,
                               absl::string_view second) {
  return environment.Has(first) ? first : second;
}

// A job that was asked for so many tasks a node, and has fewer in all: frameworks then believe in
// devices that have no process.
void CheckTasksPerNode(EnvironmentReader& environment, const LauncherFacts& facts) {
  const std::optional<int64_t> per_node = environment.Number("SLURM_NTASKS_PER_NODE", 1);
  if (!per_node.has_value() || !facts.world_size.has_value() || *facts.world_size >= *per_node) {
    return;
  }
  environment.Problem(absl::StrCat(
      "SLURM_NTASKS=", *facts.world_size, " is less than SLURM_NTASKS_PER_NODE=", *per_node,
      ": a task would take itself for one of ", *per_node,
      " on its node; give this step its own srun --ntasks=N --ntasks-per-node=M"));
}

void CheckNodes(EnvironmentReader& environment, const LauncherFacts& facts,
                absl::string_view list_name) {
  const int64_t listed = static_cast<int64_t>(facts.nodes.size());
  if (listed > 0 && facts.node_count.has_value() && *facts.node_count != listed) {
    environment.Problem(absl::StrCat(list_name, "=", environment.Text(list_name), " names ", listed,
                                     " nodes, and the number of nodes is ", *facts.node_count));
  } else if (facts.node_rank.has_value() && *facts.node_rank < listed && !facts.node_name.empty() &&
             facts.nodes[*facts.node_rank] != facts.node_name) {
    environment.Problem(absl::StrCat("SLURM_NODEID=", *facts.node_rank, " is ",
                                     facts.nodes[*facts.node_rank], " in ", list_name,
                                     ", and SLURMD_NODENAME=", facts.node_name));
  }
}

void CheckTaskCounts(EnvironmentReader& environment, const LauncherFacts& facts,
                     absl::string_view counts_name, const std::vector<int64_t>& counts) {
  const int64_t nodes = static_cast<int64_t>(counts.size());
  if (facts.node_count.has_value() && nodes != *facts.node_count) {
    environment.Problem(absl::StrCat(counts_name, "=", environment.Text(counts_name), " is for ",
                                     nodes, " nodes, and the number of nodes is ",
                                     *facts.node_count));
    return;
  }
  const int64_t tasks = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  if (facts.world_size.has_value() && tasks != *facts.world_size) {
    environment.Problem(absl::StrCat(counts_name, "=", environment.Text(counts_name),
                                     " adds up to ", tasks,
                                     " tasks, and SLURM_NTASKS=", *facts.world_size));
  }
}

// mpirun starts one daemon a node as a step of Slurm's, whose numbers say nothing about the ranks;
// and Hydra's daemons hand on what the batch script had beside what the step has. With srun's own
// PMI there is no daemon, and Hydra's local rank is not there.
bool IsDaemonsStep(const EnvironmentReader& environment) {
  return environment.Has("OMPI_COMM_WORLD_RANK") || environment.Has("MPI_LOCALRANKID");
}

}  // namespace

std::optional<LauncherFacts> ReadSlurm(EnvironmentReader& environment) {
  if (!environment.Has("SLURM_JOB_ID") && !environment.Has("SLURM_JOBID")) return std::nullopt;
  LauncherFacts facts{.dialect = Dialect::kSlurm};
  const std::string job = environment.FirstOf({"SLURM_JOB_ID", "SLURM_JOBID"});
  facts.run_id = absl::StrCat("slurm-", job);
  facts.restart_count = environment.Number("SLURM_RESTART_COUNT");
  facts.node_name = environment.Text("SLURMD_NODENAME");
  const absl::string_view list_name =
      FirstPresent(environment, "SLURM_STEP_NODELIST",
                   FirstPresent(environment, "SLURM_JOB_NODELIST", "SLURM_NODELIST"));
  facts.nodes = Nodes(environment, list_name);
  // A batch script has a task number too, of a step that is only itself.
  const bool step = environment.Has("SLURM_STEP_NODELIST");
  facts.node_count =
      environment.Number(step ? "SLURM_STEP_NUM_NODES"
                              : FirstPresent(environment, "SLURM_JOB_NUM_NODES", "SLURM_NNODES"),
                         1);
  if (!facts.node_count.has_value()) facts.node_count = environment.Number("SLURM_NNODES", 1);
  if (IsDaemonsStep(environment)) {
    // The node's name may be that of the node where mpirun was called.
    const std::optional<int64_t> node = environment.Number("SLURM_NODEID");
    const bool listed = node.has_value() && *node < static_cast<int64_t>(facts.nodes.size());
    facts.node_name = listed ? facts.nodes[static_cast<size_t>(*node)] : "";
    return facts;
  }
  if (!step) {
    CheckNodes(environment, facts, list_name);
    return facts;
  }
  facts.world_size_counts = WorldSizeCounts::kProcesses;
  facts.rank = environment.Number("SLURM_PROCID");
  facts.local_rank = environment.Number("SLURM_LOCALID");
  facts.node_rank = environment.Number("SLURM_NODEID");
  facts.world_size =
      environment.Number(FirstPresent(environment, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"), 1);
  environment.CheckBelow("SLURM_PROCID", facts.rank, "SLURM_NTASKS", facts.world_size);
  environment.CheckBelow("SLURM_NODEID", facts.node_rank, "SLURM_NNODES", facts.node_count);
  CheckTasksPerNode(environment, facts);
  CheckNodes(environment, facts, list_name);
  const absl::string_view counts_name =
      FirstPresent(environment, "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE");
  const std::vector<int64_t> counts = TaskCounts(environment, counts_name);
  if (!counts.empty()) {
    CheckTaskCounts(environment, facts, counts_name, counts);
    const size_t node = static_cast<size_t>(facts.node_rank.value_or(0));
    if (facts.node_rank.has_value() && node < counts.size()) facts.local_world_size = counts[node];
  }
  environment.CheckBelow("SLURM_LOCALID", facts.local_rank, counts_name, facts.local_world_size);
  return facts;
}

}  // namespace autobatch
