#include "orchestrator/launch/world_command.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/report/env_lines.h"
#include "orchestrator/launch/rank_launcher.h"
#include "orchestrator/launch/split_words.h"
#include "orchestrator/launch/torchrun_command.h"
#include "orchestrator/plan/plan.h"

namespace autobatch {
namespace {

std::string ShellText(const std::vector<std::string>& command) {
  return absl::StrJoin(command, " ", [](std::string* out, const std::string& word) {
    absl::StrAppend(out, ShellQuote(word));
  });
}

// `at`: words in front of torchrun's own.
absl::Status Elastic(std::span<const std::string> command, size_t at,
                     const TorchrunCommand& torchrun, const std::vector<std::string>& placeholders,
                     absl::string_view launch_program) {
  const std::vector<std::string> worker = {std::string(launch_program), "--worker", "--"};
  std::vector<std::string> form(command.begin(), command.begin() + static_cast<std::ptrdiff_t>(at));
  for (std::string& word : PerWorkerForm(command.subspan(at), torchrun, worker)) {
    form.push_back(std::move(word));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      absl::StrJoin(placeholders, ", "), " in front of an elastic torchrun (", torchrun.min_nodes,
      " to ", torchrun.max_nodes,
      " nodes) would keep the first world's value after every change; let each worker take its own "
      "share instead:\n  ",
      ShellQuote(launch_program), " … -- ", ShellText(form)));
}

absl::Status ElasticInAShell(const TorchrunCommand& torchrun,
                             const std::vector<std::string>& placeholders) {
  return absl::InvalidArgumentError(absl::StrCat(
      absl::StrJoin(placeholders, ", "), " in a shell's text with an elastic torchrun (",
      torchrun.min_nodes, " to ", torchrun.max_nodes,
      " nodes): the text is filled before the shell runs, and would keep the first world's value "
      "after every change; put torchrun itself behind --, without the shell, or let the text's "
      "torchrun start --no-python a script that takes AUTOBATCH_MICRO_BATCH from launch --worker"));
}

// A torchrun that another program starts, as srun or a shell does.
struct HiddenTorchrun {
  TorchrunCommand torchrun;
  // Words of the command in front of it; absent: it is in a shell's text.
  std::optional<size_t> at;
};

std::optional<TorchrunCommand> ReadQuietly(std::span<const std::string> command,
                                           const Environment& environment) {
  // What is wrong with it is not ours to say: perhaps it is no torchrun at all.
  auto torchrun = ReadTorchrunCommand(command, environment).value_or(std::nullopt);
  // Without a program behind it, it is a word that says torchrun.
  if (torchrun.has_value() && torchrun->program == command.size()) return std::nullopt;
  return torchrun;
}

// Calls `found` with every command that may be in this one, until it says true: what is behind some
// word of it (`at` words are in front), or behind one of a shell's text (no `at`).
template <typename F>
void SearchBehind(std::span<const std::string> command, F found) {
  for (size_t at = 1; at < command.size(); ++at) {
    if (found(command.subspan(at), std::optional<size_t>(at))) return;
    if (!absl::StrContains(command[at], ' ')) continue;
    // Where one command of a text ends is not of interest, only where another begins.
    const absl::StatusOr<std::vector<std::string>> words = SplitWords(
        absl::StrReplaceAll(command[at], {{";", " "}, {"&", " "}, {"|", " "}, {"(", " "}}));
    if (!words.ok()) continue;
    for (size_t word = 0; word < words->size(); ++word) {
      if (found(std::span(*words).subspan(word), std::optional<size_t>())) return;
    }
  }
}

std::optional<HiddenTorchrun> FindHidden(std::span<const std::string> command,
                                         const Environment& environment) {
  std::optional<HiddenTorchrun> hidden;
  SearchBehind(command, [&](std::span<const std::string> words, std::optional<size_t> at) {
    if (auto torchrun = ReadQuietly(words, environment)) {
      hidden = HiddenTorchrun{*std::move(torchrun), at};
    }
    return hidden.has_value();
  });
  return hidden;
}

absl::Status Contradiction(int64_t told, absl::string_view launcher, int64_t own,
                           absl::string_view said_by) {
  return absl::InvalidArgumentError(absl::StrCat("--world-size ", told, " and ", launcher,
                                                 "'s own world of ", own, " ranks (", said_by,
                                                 ") contradict; leave --world-size out"));
}

void NameTorchrun(WorldCommand& world) {
  world.launcher = "torchrun";
  world.dialect = Dialect::kTorchrun;
}

// accelerate and the like in front.
absl::Status TakeCounts(const RankLauncher& launcher, WorldCommand& world) {
  world.launcher = launcher.name;
  world.dialect = launcher.dialect;
  world.uncounted = launcher.uncounted;
  world.one_node = launcher.nodes == 1;
  world.nodes = world.min_nodes = launcher.nodes.value_or(1);
  if (!launcher.processes.has_value()) {
    world.one_a_device = !world.processes.has_value() && launcher.nodes == 1;
    return absl::OkStatus();
  }
  if (world.processes.value_or(*launcher.processes) != *launcher.processes) {
    return Contradiction(*world.processes, launcher.name, *launcher.processes, launcher.said_by);
  }
  world.processes = launcher.processes;
  world.processes_a_node = *launcher.processes / world.nodes;
  return absl::OkStatus();
}

// accelerate or DeepSpeed behind srun, or in a shell's text: only that it is there.
void FindHiddenLauncher(std::span<const std::string> command, const Environment& environment,
                        WorldCommand& world) {
  // What it says of its world is not of interest, and no reason to refuse it.
  constexpr int64_t kAnyWorld = 1;
  SearchBehind(command, [&](std::span<const std::string> words, std::optional<size_t>) {
    const auto launcher = ReadRankLauncher(words, environment, kAnyWorld).value_or(std::nullopt);
    // A strategy may be called deepspeed, too.
    if (!launcher.has_value() || launcher->program >= words.size() ||
        !absl::EndsWith(words[launcher->program], ".py")) {
      return false;
    }
    world.launcher = launcher->name;
    world.dialect = launcher->dialect;
    return true;
  });
}

}  // namespace

absl::StatusOr<WorldCommand> ReadWorldCommand(std::span<const std::string> command,
                                              const Environment& environment,
                                              std::optional<int64_t> world_size,
                                              absl::string_view launch_program) {
  AB_ASSIGN_OR_RETURN(const std::optional<TorchrunCommand> torchrun,
                      ReadTorchrunCommand(command, environment));
  WorldCommand world{.command = {command.begin(), command.end()}, .processes = world_size};
  if (!torchrun.has_value()) {
    AB_ASSIGN_OR_RETURN(const std::optional<RankLauncher> launcher,
                        ReadRankLauncher(command, environment, world_size));
    if (launcher.has_value()) {
      AB_RETURN_IF_ERROR(TakeCounts(*launcher, world));
      return world;
    }
    const std::optional<HiddenTorchrun> hidden = FindHidden(command, environment);
    if (!hidden.has_value()) {
      FindHiddenLauncher(command, environment, world);
      return world;
    }
    NameTorchrun(world);
    if (!hidden->torchrun.elastic()) return world;
    world.elastic = true;
    world.nodes = hidden->torchrun.max_nodes;
    world.min_nodes = hidden->torchrun.min_nodes;
    const std::vector<std::string> placeholders = WorldDependent(OuterWords(command));
    if (placeholders.empty()) return world;
    if (!hidden->at.has_value()) return ElasticInAShell(hidden->torchrun, placeholders);
    return Elastic(command, *hidden->at, hidden->torchrun, placeholders, launch_program);
  }
  NameTorchrun(world);
  world.processes_a_node = ProcessesANode(*torchrun);
  world.elastic = torchrun->elastic();
  world.nodes = torchrun->max_nodes;
  world.min_nodes = torchrun->min_nodes;
  if (world.elastic) {
    const std::vector<std::string> placeholders = WorldDependent(OuterWords(command));
    if (placeholders.empty()) return world;
    return Elastic(command, 0, *torchrun, placeholders, launch_program);
  }
  // Two different numbers of devices give the same world: it does not depend on them.
  const std::optional<int64_t> own = WorldSizeOf(*torchrun, 1);
  world.one_a_device = own != WorldSizeOf(*torchrun, 2);
  if (world.one_a_device) return world;
  if (world_size.has_value() && world_size != own) {
    return Contradiction(*world_size, world.launcher, *own, "--nnodes times --nproc-per-node");
  }
  world.processes = own;
  return world;
}

LauncherFacts FactsOfTraining(const WorldCommand& world, const LauncherFacts& facts,
                              bool single_node) {
  if (!world.starts_ranks() && !world.processes.has_value()) return facts;
  LauncherFacts training = facts;
  if (world.starts_ranks()) {
    if (facts.dialect != Dialect::kNone) {
      training.outer.insert(training.outer.begin(), facts.dialect);
    }
    training.dialect = world.dialect;
  }
  training.rank.reset();
  training.local_rank.reset();
  training.world_size = world.processes;
  training.world_size_counts = WorldSizeCounts::kProcesses;
  training.local_world_size = world.processes_a_node;
  if (single_node && !world.elastic && world.processes.has_value()) {
    training.local_world_size = world.processes;
  }
  return training;
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
