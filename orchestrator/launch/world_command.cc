#include "orchestrator/launch/world_command.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/report/env_lines.h"
#include "orchestrator/launch/torchrun_command.h"
#include "orchestrator/plan/plan.h"

namespace autobatch {
namespace {

std::string ShellText(const std::vector<std::string>& command) {
  return absl::StrJoin(command, " ", [](std::string* out, const std::string& word) {
    absl::StrAppend(out, ShellQuote(word));
  });
}

absl::Status Elastic(std::span<const std::string> command, const TorchrunCommand& torchrun,
                     const std::vector<std::string>& placeholders,
                     absl::string_view launch_program) {
  const std::vector<std::string> worker = {std::string(launch_program), "--worker", "--"};
  return absl::InvalidArgumentError(absl::StrCat(
      absl::StrJoin(placeholders, ", "), " in front of an elastic torchrun (", torchrun.min_nodes,
      " to ", torchrun.max_nodes,
      " nodes) would keep the first world's value after every change; let each worker take its own "
      "share instead:\n  ",
      launch_program, " … -- ", ShellText(PerWorkerForm(command, torchrun, worker))));
}

absl::Status Contradiction(int64_t told, int64_t own) {
  return absl::InvalidArgumentError(
      absl::StrCat("--world-size ", told, " and torchrun's own world of ", own,
                   " ranks (--nnodes times --nproc-per-node) contradict; leave --world-size out"));
}

}  // namespace

absl::StatusOr<WorldCommand> ReadWorldCommand(std::span<const std::string> command,
                                              const Environment& environment,
                                              std::optional<int64_t> world_size,
                                              absl::string_view launch_program) {
  AB_ASSIGN_OR_RETURN(const std::optional<TorchrunCommand> torchrun,
                      ReadTorchrunCommand(command, environment));
  WorldCommand world{.command = {command.begin(), command.end()}, .processes = world_size};
  if (!torchrun.has_value()) return world;
  world.elastic = torchrun->elastic();
  world.nodes = torchrun->max_nodes;
  world.min_nodes = torchrun->min_nodes;
  if (world.elastic) {
    const std::vector<std::string> placeholders = WorldDependent(OuterWords(command));
    if (placeholders.empty()) return world;
    return Elastic(command, *torchrun, placeholders, launch_program);
  }
  // Two different numbers of devices give the same world: it does not depend on them.
  const std::optional<int64_t> own = WorldSizeOf(*torchrun, 1);
  world.one_a_device = own != WorldSizeOf(*torchrun, 2);
  if (world.one_a_device) return world;
  if (world_size.has_value() && world_size != own) return Contradiction(*world_size, *own);
  world.processes = own;
  return world;
}

absl::StatusOr<TrainingValues> ValuesFor(const WorldCommand& world, const Record& record,
                                         const std::string& record_path,
                                         std::optional<int64_t> devices) {
  if (world.elastic) return ValuesOfRun(record, record_path);
  int64_t processes = record.world_size * record.request.model_parallel_size;
  if (world.processes.has_value()) {
    processes = *world.processes;
  } else if (world.one_a_device && devices.has_value() && world.nodes == 1) {
    processes = *devices;
  }
  AB_ASSIGN_OR_RETURN(const PlanRow row, RowFor(record.plan, processes));
  return ValuesOfWorld(record, record_path, row);
}

}  // namespace autobatch
