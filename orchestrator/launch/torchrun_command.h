#ifndef ORCHESTRATOR_LAUNCH_TORCHRUN_COMMAND_H_
#define ORCHESTRATOR_LAUNCH_TORCHRUN_COMMAND_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "orchestrator/dialect/environment.h"

namespace autobatch {

// What a torchrun command line says of the world that it will make.
struct TorchrunCommand {
  int64_t min_nodes = 1;
  int64_t max_nodes = 1;
  // Processes a node: a number, or "gpu", "cpu", "auto".
  std::string processes = "1";
  bool no_python = false;
  bool module = false;
  // Arguments before it are torchrun's; it and those behind it are the training program's. The
  // command's size where there is no program.
  size_t program = 0;

  // Its world may change its size while it trains.
  bool elastic() const { return min_nodes != max_nodes; }
};

// Reads `torchrun …` and `python -m torch.distributed.run …`, by path or by name, also behind `env
// …` and the like; nothing for any other command. PET_* variables are torchrun's defaults.
// InvalidArgument: an option's value that torchrun would refuse too.
absl::StatusOr<std::optional<TorchrunCommand>> ReadTorchrunCommand(
    std::span<const std::string> command, const Environment& environment);

// Processes that it starts on each node; nothing where that is one a device.
std::optional<int64_t> ProcessesANode(const TorchrunCommand& torchrun);

// Processes of its world on nodes that have `devices` each; nothing where it is elastic.
std::optional<int64_t> WorldSizeOf(const TorchrunCommand& torchrun, int64_t devices);

// The same command with `worker_launch` in front of each worker: {"launch", "--worker", "--"}.
std::vector<std::string> PerWorkerForm(std::span<const std::string> command,
                                       const TorchrunCommand& torchrun,
                                       std::span<const std::string> worker_launch);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_TORCHRUN_COMMAND_H_
