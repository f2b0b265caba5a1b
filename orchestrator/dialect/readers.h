#ifndef ORCHESTRATOR_DIALECT_READERS_H_
#define ORCHESTRATOR_DIALECT_READERS_H_

#include <optional>

#include "orchestrator/dialect/environment.h"
#include "orchestrator/dialect/launcher_facts.h"

// One reader for each family of variables, for read_launcher only. Each returns nothing where its
// launcher has left no trace; what is wrong within the family becomes a problem of the reader's.
namespace autobatch {

// RANK, WORLD_SIZE and the rest, of a worker: kTorchrun with TORCHELASTIC_RUN_ID, else kEnv.
std::optional<LauncherFacts> ReadTorchrun(EnvironmentReader& environment);

// OMPI_COMM_WORLD_* (kOpenMpi), or PMI_* of MPICH's Hydra or of srun (kMpich). Open MPI's
// OMPI_COMM_WORLD_NODE_RANK is no rank of a node and is not read.
std::optional<LauncherFacts> ReadMpi(EnvironmentReader& environment);

// SLURM_*: a task of a step, or a batch script (no rank).
std::optional<LauncherFacts> ReadSlurm(EnvironmentReader& environment);

// A pod of a PyTorchJob, a TrainJob or an MPIJob: PET_*, and RANK that is a node's.
std::optional<LauncherFacts> ReadKubeflow(EnvironmentReader& environment);

}  // namespace autobatch

#endif  // ORCHESTRATOR_DIALECT_READERS_H_
