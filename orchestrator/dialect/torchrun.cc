#include "absl/strings/str_cat.h"
#include "orchestrator/dialect/readers.h"
#include "orchestrator/dialect/run_id.h"

namespace autobatch {

std::optional<LauncherFacts> ReadTorchrun(EnvironmentReader& environment) {
  if (!environment.Has("RANK") || !environment.Has("WORLD_SIZE")) return std::nullopt;
  const bool torchrun = environment.Has("TORCHELASTIC_RUN_ID");
  // In a pod, RANK without a local rank is the pod's.
  const bool pod = environment.Has("KUBERNETES_SERVICE_HOST") || environment.Has("PET_NNODES");
  if (!torchrun && pod && !environment.Has("LOCAL_RANK")) return std::nullopt;
  LauncherFacts facts{.dialect = torchrun ? Dialect::kTorchrun : Dialect::kEnv,
                      .world_size_counts = WorldSizeCounts::kProcesses};
  environment.ReadRank("RANK", facts.rank, "WORLD_SIZE", facts.world_size);
  environment.ReadRank("LOCAL_RANK", facts.local_rank, "LOCAL_WORLD_SIZE", facts.local_world_size);
  facts.master_address = environment.Text("MASTER_ADDR");
  facts.master_port = environment.Number("MASTER_PORT", 1);
  if (facts.local_world_size.has_value() && facts.world_size.has_value() &&
      *facts.local_world_size > *facts.world_size) {
    environment.Problem(absl::StrCat("LOCAL_WORLD_SIZE=", *facts.local_world_size,
                                     " is more than WORLD_SIZE=", *facts.world_size));
  }
  if (!torchrun) return facts;
  environment.ReadRank("GROUP_RANK", facts.node_rank, "GROUP_WORLD_SIZE", facts.node_count);
  facts.restart_count = environment.Number("TORCHELASTIC_RESTART_COUNT");
  const std::string run_id = environment.Text("TORCHELASTIC_RUN_ID");
  if (CheckRunId(run_id).ok()) facts.run_id = run_id;
  return facts;
}

}  // namespace autobatch
