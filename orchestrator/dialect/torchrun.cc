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
  facts.rank = environment.Number("RANK");
  facts.world_size = environment.Number("WORLD_SIZE", 1);
  facts.local_rank = environment.Number("LOCAL_RANK");
  facts.local_world_size = environment.Number("LOCAL_WORLD_SIZE", 1);
  facts.master_address = environment.Text("MASTER_ADDR");
  facts.master_port = environment.Number("MASTER_PORT", 1);
  environment.CheckBelow("RANK", facts.rank, "WORLD_SIZE", facts.world_size);
  environment.CheckBelow("LOCAL_RANK", facts.local_rank, "LOCAL_WORLD_SIZE",
                         facts.local_world_size);
  if (facts.local_world_size.has_value() && facts.world_size.has_value() &&
      *facts.local_world_size > *facts.world_size) {
    environment.Problem(absl::StrCat("LOCAL_WORLD_SIZE=", *facts.local_world_size,
                                     " is more than WORLD_SIZE=", *facts.world_size));
  }
  if (!torchrun) return facts;
  facts.node_rank = environment.Number("GROUP_RANK");
  facts.node_count = environment.Number("GROUP_WORLD_SIZE", 1);
  facts.restart_count = environment.Number("TORCHELASTIC_RESTART_COUNT");
  environment.CheckBelow("GROUP_RANK", facts.node_rank, "GROUP_WORLD_SIZE", facts.node_count);
  const std::string run_id = environment.Text("TORCHELASTIC_RUN_ID");
  if (CheckRunId(run_id).ok()) facts.run_id = run_id;
  return facts;
}

}  // namespace autobatch
