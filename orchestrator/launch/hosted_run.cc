#include "orchestrator/launch/hosted_run.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/probe/flag_reader.h"
#include "orchestrator/dialect/device_count.h"
#include "orchestrator/dialect/discovery.h"
#include "orchestrator/dialect/read_launcher.h"
#include "orchestrator/dialect/run_id.h"
#include "orchestrator/launch/launch_options.h"
#include "orchestrator/service/plan_flags.h"

namespace autobatch {
namespace {

struct Nodes {
  int64_t least = 1;
  int64_t most = 1;
};

// The user's word, else the command's, else the launcher's.
Nodes NodesOf(const LaunchLine& line, const LauncherFacts& launcher, const WorldCommand& world) {
  Nodes nodes{world.min_nodes, world.nodes};
  // A batch script is on one node, whatever the job has, and so is its torchrun.
  const bool batch_script = StartsTasks(launcher.dialect) && !launcher.rank.has_value();
  const bool torchrun_here = world.processes_a_node.has_value() || world.one_a_device;
  if (world.nodes == 1 && !world.elastic && !(batch_script && torchrun_here)) {
    nodes.most = launcher.max_nodes.value_or(launcher.node_count.value_or(1));
    nodes.least = launcher.min_nodes.value_or(nodes.most);
  }
  if (line.max_nodes.has_value()) nodes = {*line.max_nodes, *line.max_nodes};
  if (line.min_nodes.has_value()) {
    nodes.least = *line.min_nodes;
    nodes.most = std::max(nodes.most, nodes.least);
  }
  return nodes;
}

// Whether the coordinator is to be hosted here.
absl::StatusOr<bool> HostsCoordinator(const LaunchLine& line, const LauncherFacts& launcher,
                                      const Nodes& nodes) {
  if (!line.coordinator.empty()) return false;
  if (line.host_coordinator) return true;
  AB_ASSIGN_OR_RETURN(const Discovered found,
                      DiscoverCoordinator({.node_count = nodes.most}, launcher));
  return found.here;
}

std::vector<std::string> SecretArguments(const LaunchLine& line, bool own_secret) {
  if (!line.secret_file.empty()) return {"--secret-file", line.secret_file};
  if (line.secret_descriptor.has_value()) {
    return {"--secret-fd", absl::StrCat(*line.secret_descriptor)};
  }
  // A stand-in: with a secret of our own nobody reads a descriptor.
  if (own_secret) return {"--secret-fd", "0"};
  return {};
}

void Append(std::vector<std::string>& arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
}

absl::StatusOr<AgentFlags> Agent(const LaunchLine& line, const LauncherFacts& launcher,
                                 const std::vector<std::string>& common) {
  std::vector<std::string> arguments = line.agent_arguments;
  Append(arguments, common);
  if (!line.coordinator.empty()) Append(arguments, {"--coordinator", line.coordinator});
  // The same command runs on every node, and one of them hosts the coordinator: that all would have
  // told it the same is a setting that they compare.
  if (!line.plan_arguments.empty() && !line.host_coordinator) {
    Append(arguments, {"--config", absl::StrCat("plan=", absl::StrJoin(line.plan_arguments, " "))});
  }
  if (!line.socket.empty()) Append(arguments, {"--socket", line.socket});
  if (line.world_size.has_value()) {
    Append(arguments, {"--world-size", absl::StrCat(*line.world_size)});
  }
  if (!line.probe_command.empty()) {
    arguments.emplace_back("--");
    Append(arguments, line.probe_command);
  }
  return ParseAgentFlags(arguments, launcher);
}

// Read on every node, so that a mistake is named on each: those that host no coordinator would wait
// for one that does not start.
absl::StatusOr<PlanRequest> PlanOf(const LaunchLine& line) {
  AB_ASSIGN_OR_RETURN(const boost::program_options::variables_map values,
                      ParseFlags(HostedPlanOptions(), line.plan_arguments, ""));
  FlagReader read(values);
  PlanFlags flags;
  AB_RETURN_IF_ERROR(ReadPlanFlags(read, flags));
  return flags.request;
}

bool Given(const std::vector<std::string>& arguments, absl::string_view option) {
  return std::any_of(arguments.begin(), arguments.end(), [option](absl::string_view word) {
    return absl::ConsumePrefix(&word, option) && (word.empty() || word[0] == '=');
  });
}

// Each task would start a torchrun, and that its ranks.
absl::Status CheckOneTaskANode(const LauncherFacts& launcher, const WorldCommand& world) {
  const int64_t tasks = launcher.local_world_size.value_or(1);
  if (!world.starts_ranks() || !StartsTasks(launcher.dialect)) return absl::OkStatus();
  if (tasks > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(DialectName(launcher), " starts ", tasks,
                     " tasks on this node, and each would start ", "its own ", world.launcher,
                     "; start one task a node (srun --ntasks=NODES "
                     "--ntasks-per-node=1), or the program without ",
                     world.launcher, " behind launch --worker in each task"));
  }
  if (world.uncounted) {
    return absl::InvalidArgumentError(
        absl::StrCat(world.launcher, " starts ranks of its own, so that the one task a node of ",
                     DialectName(launcher),
                     " is none, and how many it starts is not read here; give --world-size N, all "
                     "ranks of the job"));
  }
  return absl::OkStatus();
}

// A world of one node on each of several is no job.
absl::Status CheckOneWorld(const LaunchLine& line, const WorldCommand& world, int64_t nodes) {
  if (!world.one_node || nodes == 1 || line.world_size.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the job has ", nodes, " nodes, and ", world.launcher,
      " would start a world of its own on each: tell it of all of them (accelerate's "
      "--num_machines and --num_processes, DeepSpeed's --hostfile), or start torchrun --nnodes=",
      nodes));
}

absl::StatusOr<CoordinatorFlags> Coordinator(const LaunchLine& line, const LauncherFacts& launcher,
                                             const std::vector<std::string>& common,
                                             const Nodes& nodes, bool elastic,
                                             const std::string& folder) {
  std::vector<std::string> arguments = line.plan_arguments;
  // A smaller world goes on with a row of the record that it has.
  if (elastic && !Given(arguments, "--min-ranks")) Append(arguments, {"--min-ranks", "1"});
  Append(arguments, line.coordinator_arguments);
  Append(arguments, common);
  Append(arguments, {"--min-nodes", absl::StrCat(nodes.least), "--max-nodes",
                     absl::StrCat(nodes.most), "--state-dir", folder + "/coordinator"});
  AB_ASSIGN_OR_RETURN(CoordinatorFlags flags, ParseCoordinatorFlags(arguments, launcher));
  // Nobody else is to find it.
  if (nodes.most == 1 && !Given(arguments, "--bind") && !Given(arguments, "--port")) {
    flags.bind_address = "127.0.0.1";
    flags.ports = {0, 0};
  }
  return flags;
}

}  // namespace

absl::StatusOr<HostedRun> PlanHostedRun(const LaunchLine& line, const LauncherFacts& launcher,
                                        const WorldCommand& world, absl::string_view unique) {
  if (!line.coordinator.empty() && !line.plan_arguments.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(line.plan_arguments.front(),
                     " and --coordinator contradict: the "
                     "coordinator that is there was told it when it was started"));
  }
  AB_RETURN_IF_ERROR(CheckOneTaskANode(launcher, world));
  const Nodes nodes = NodesOf(line, launcher, world);
  AB_RETURN_IF_ERROR(CheckOneWorld(line, world, nodes.most));
  const bool single = nodes.most == 1 && line.coordinator.empty();
  HostedRun run;
  run.nodes = nodes.most;
  run.launcher = world.command.empty() ? WithoutOwnTask(launcher)
                                       : FactsOfTraining(world, launcher, nodes.most == 1);
  run.own_secret = single && line.secret_file.empty() && !line.secret_descriptor.has_value() &&
                   line.credential_arguments.empty();
  std::string run_id = line.run_id.empty() ? launcher.run_id : line.run_id;
  if (run_id.empty() && single) run_id = absl::StrCat("local-", unique);
  AB_ASSIGN_OR_RETURN(run_id, ChooseRunId(run_id, launcher));
  AB_ASSIGN_OR_RETURN(run.plan, PlanOf(line));
  std::vector<std::string> common = {"--run-id", run_id};
  Append(common, SecretArguments(line, run.own_secret));
  Append(common, line.credential_arguments);
  // An init container is done once everybody has the record.
  if (!line.publish.empty() || line.format.has_value()) common.emplace_back("--once");
  if (line.quiet) common.emplace_back("--quiet");
  AB_ASSIGN_OR_RETURN(run.agent, Agent(line, launcher, common));
  run.agent.alone = single;
  AB_ASSIGN_OR_RETURN(const bool hosts, HostsCoordinator(line, launcher, nodes));
  if (hosts) {
    AB_ASSIGN_OR_RETURN(run.coordinator, Coordinator(line, launcher, common, nodes, world.elastic,
                                                     run.agent.state_directory));
  }
  return run;
}

}  // namespace autobatch
