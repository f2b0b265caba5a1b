#include "absl/strings/str_cat.h"
#include "orchestrator/dialect/readers.h"

namespace autobatch {
namespace {

std::optional<LauncherFacts> ReadOpenMpi(EnvironmentReader& environment) {
  if (!environment.Has("OMPI_COMM_WORLD_RANK")) return std::nullopt;
  LauncherFacts facts{.dialect = Dialect::kOpenMpi,
                      .world_size_counts = WorldSizeCounts::kProcesses};
  environment.ReadRank("OMPI_COMM_WORLD_RANK", facts.rank, "OMPI_COMM_WORLD_SIZE",
                       facts.world_size);
  environment.ReadRank("OMPI_COMM_WORLD_LOCAL_RANK", facts.local_rank, "OMPI_COMM_WORLD_LOCAL_SIZE",
                       facts.local_world_size);
  facts.node_name = environment.Text("PMIX_HOSTNAME");
  const std::optional<int64_t> pmix = environment.Number("PMIX_RANK");
  if (pmix.has_value() && facts.rank.has_value() && pmix != facts.rank) {
    environment.Problem(
        absl::StrCat("OMPI_COMM_WORLD_RANK=", *facts.rank, " and PMIX_RANK=", *pmix, " disagree"));
  }
  return facts;
}

std::optional<LauncherFacts> ReadMpich(EnvironmentReader& environment) {
  if (!environment.Has("PMI_RANK")) return std::nullopt;
  LauncherFacts facts{.dialect = Dialect::kMpich, .world_size_counts = WorldSizeCounts::kProcesses};
  environment.ReadRank("PMI_RANK", facts.rank, "PMI_SIZE", facts.world_size);
  // Hydra's; srun's PMI leaves them to Slurm's own variables.
  environment.ReadRank("MPI_LOCALRANKID", facts.local_rank, "MPI_LOCALNRANKS",
                       facts.local_world_size);
  return facts;
}

}  // namespace

std::optional<LauncherFacts> ReadMpi(EnvironmentReader& environment) {
  const std::optional<LauncherFacts> open_mpi = ReadOpenMpi(environment);
  const std::optional<LauncherFacts> mpich = ReadMpich(environment);
  if (open_mpi.has_value() && mpich.has_value() && open_mpi->rank != mpich->rank) {
    environment.Problem(absl::StrCat("OMPI_COMM_WORLD_RANK=", open_mpi->rank.value_or(-1),
                                     " and PMI_RANK=", mpich->rank.value_or(-1),
                                     " disagree: one MPI launcher has started the other"));
  }
  return open_mpi.has_value() ? open_mpi : mpich;
}

}  // namespace autobatch
