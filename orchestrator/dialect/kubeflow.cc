#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "orchestrator/dialect/readers.h"
#include "orchestrator/dialect/run_id.h"

namespace autobatch {
namespace {

// PET_NNODES is "2", or "1:4" of an elastic job.
void ReadNodeBounds(EnvironmentReader& environment, LauncherFacts& facts) {
  const std::string text = environment.Text("PET_NNODES");
  if (text.empty()) return;
  const std::pair<std::string, std::string> bounds = absl::StrSplit(text, absl::MaxSplits(':', 1));
  int32_t least = 0;
  int32_t most = 0;
  const bool range = bounds.first.size() != text.size();
  if (!absl::SimpleAtoi(bounds.first, &least) ||
      !absl::SimpleAtoi(range ? bounds.second : bounds.first, &most) || least < 1 || most < least) {
    environment.Problem(absl::StrCat("PET_NNODES='", absl::CEscape(text),
                                     "': expected a number of nodes, or MIN:MAX"));
    return;
  }
  facts.min_nodes = least;
  facts.max_nodes = most;
  if (!range) facts.node_count = most;
}

// Processes of each pod, where it is a number and not left to the devices ("auto", "gpu").
std::optional<int64_t> ProcessesPerNode(EnvironmentReader& environment) {
  const std::string text = environment.FirstOf({"PET_NPROC_PER_NODE", "PET_N_PROC_PER_NODE"});
  if (text.empty() || text == "auto" || text == "gpu" || text == "cpu" || text == "xpu") {
    return std::nullopt;
  }
  int32_t processes = 0;
  if (absl::SimpleAtoi(text, &processes) && processes > 0) return processes;
  environment.Problem(absl::StrCat("PET_NPROC_PER_NODE='", absl::CEscape(text),
                                   "': expected a number of processes, auto, gpu or cpu"));
  return std::nullopt;
}

// The training operator's WORLD_SIZE has counted pods, later pods times nprocPerNode.
void ReadWorldSize(EnvironmentReader& environment, LauncherFacts& facts) {
  const std::optional<int64_t> processes = ProcessesPerNode(environment);
  facts.local_world_size = processes;
  const std::optional<int64_t> told = environment.Number("WORLD_SIZE", 1);
  if (!told.has_value()) return;
  const std::optional<int64_t> nodes = facts.node_count;
  if (!nodes.has_value() || *told == *nodes) {
    facts.node_count = told;
    facts.world_size_counts = processes == 1 ? WorldSizeCounts::kBoth : WorldSizeCounts::kNodes;
  } else if (processes.has_value() && *told == *nodes * *processes) {
    facts.world_size_counts = WorldSizeCounts::kProcesses;
  } else {
    environment.Problem(absl::StrCat(
        "WORLD_SIZE=", *told, " is neither PET_NNODES=", *nodes, " nor ",
        processes.has_value() ? absl::StrCat("that times PET_NPROC_PER_NODE=", *processes)
                              : "explained by a PET_NPROC_PER_NODE"));
  }
}

}  // namespace

std::optional<LauncherFacts> ReadKubeflow(EnvironmentReader& environment) {
  // RANK with a local rank is a process's, and torchrun inside the pod has set it.
  const bool process = environment.Has("LOCAL_RANK");
  const bool pet =
      !environment.FirstOf({"PET_NNODES", "PET_NODE_RANK", "PET_RDZV_ENDPOINT", "PET_MASTER_ADDR"})
           .empty();
  const bool pod = !process && environment.Has("RANK") && environment.Has("WORLD_SIZE") &&
                   environment.Has("KUBERNETES_SERVICE_HOST");
  const bool mpi_job = environment.Has("K_MPI_JOB_ROLE");
  if (!pet && !pod && !mpi_job) return std::nullopt;
  LauncherFacts facts{.dialect = Dialect::kKubeflow};
  facts.node_name = environment.Text("HOSTNAME");
  const std::string run_id = environment.Text("PET_RDZV_ID");
  if (CheckRunId(run_id).ok()) facts.run_id = run_id;
  ReadNodeBounds(environment, facts);
  facts.node_rank = environment.Number("PET_NODE_RANK");
  if (!process) {
    ReadWorldSize(environment, facts);
    const std::optional<int64_t> rank = environment.Number("RANK");
    if (rank.has_value() && facts.node_rank.has_value() && rank != facts.node_rank) {
      environment.Problem(absl::StrCat("RANK=", *rank, " and PET_NODE_RANK=", *facts.node_rank,
                                       " disagree on this pod's rank"));
    }
    if (rank.has_value()) facts.node_rank = rank;
  }
  environment.CheckBelow("the pod's rank", facts.node_rank, "PET_NNODES", facts.node_count);
  facts.master_address = environment.Text("PET_MASTER_ADDR");
  if (facts.master_address.empty() && !process) {
    facts.master_address = environment.Text("MASTER_ADDR");
  }
  facts.master_port = environment.Number("PET_MASTER_PORT", 1);
  if (facts.master_address.empty()) {
    // An elastic job: the first worker's pod, "job-worker-0:23456".
    const std::string endpoint = environment.Text("PET_RDZV_ENDPOINT");
    absl::string_view host = absl::string_view(endpoint).substr(0, endpoint.rfind(':'));
    if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
    facts.master_address = std::string(host);
  }
  // One process a pod, started without torchrun, has its pod's rank.
  const bool counts_nodes = facts.world_size_counts == WorldSizeCounts::kNodes ||
                            facts.world_size_counts == WorldSizeCounts::kBoth;
  if (counts_nodes && facts.local_world_size.value_or(1) == 1) {
    facts.rank = facts.node_rank;
    facts.world_size = facts.node_count;
    facts.local_rank = 0;
    facts.local_world_size = 1;
  }
  return facts;
}

}  // namespace autobatch
