#ifndef AUTOBATCH_TYPES_LAUNCHED_RANKS_H_
#define AUTOBATCH_TYPES_LAUNCHED_RANKS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace autobatch {

// The ranks that a command's launcher is told to start, all nodes together.
struct LaunchedRanks {
  int64_t ranks = 1;
  // The words that say so: "torchrun --nproc-per-node=2 --nnodes=4".
  std::string words;
};

// Reads torchrun (python -m torch.distributed.run), accelerate launch, deepspeed, mpirun (mpiexec),
// horovodrun and srun, from their own options, which stand before the script. Absent: none of them,
// or one that is told no number (torchrun's "gpu" means as many as there are devices).
//
//   FindLaunchedRanks({"torchrun", "--nproc-per-node=2", "train.py", "--batch={batch}"})  // 2
std::optional<LaunchedRanks> FindLaunchedRanks(std::span<const std::string> command);

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_LAUNCHED_RANKS_H_
