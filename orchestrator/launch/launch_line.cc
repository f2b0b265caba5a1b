#include "orchestrator/launch/launch_line.h"

#include <algorithm>
#include <boost/program_options.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autobatch/base/files.h"
#include "autobatch/base/nearest.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/probe/command_line_options.h"
#include "autobatch/probe/flag_reader.h"
#include "autobatch/types/enum_names.h"
#include "orchestrator/dialect/run_id.h"
#include "orchestrator/launch/launch_options.h"
#include "orchestrator/launch/split_words.h"
#include "orchestrator/launch/training_values.h"
#include "orchestrator/service/agent_flags.h"
#include "orchestrator/service/credential_flags.h"
#include "orchestrator/wire/message_rules.h"

namespace autobatch {
namespace {

namespace po = boost::program_options;

// Its names are spelt with '-' here.
absl::StatusOr<LaunchFormat> FormatNamed(const std::string& text) {
  std::vector<std::string> valid;
  for (const std::string& known : EnumNames<LaunchFormat>()) {
    valid.push_back(absl::StrReplaceAll(known, {{"_", "-"}}));
    if (valid.back() == text) return ParseEnum<LaunchFormat>("format", known);
  }
  return UnknownName("format", text, valid);
}

absl::Status Contradict(absl::string_view one, absl::string_view other, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(one, " and ", other, " contradict: ", why));
}

absl::Status ReadSource(FlagReader& read, const Environment& environment, LaunchLine& line) {
  const auto variable = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  line.worker = read.Switch("worker");
  read.Path("socket", line.socket);
  read.Path("record", line.record);
  if (!line.socket.empty() && !line.record.empty()) {
    return Contradict("--socket", "--record", "the agent behind the socket has the record");
  }
  if (line.worker && line.socket.empty() && line.record.empty()) {
    line.socket = variable("AUTOBATCH_SOCKET");
    if (line.socket.empty()) line.record = variable("AUTOBATCH_RECORD");
  }
  read.Text("run-id", line.run_id);
  if (line.run_id.empty()) line.run_id = variable("AUTOBATCH_RUN_ID");
  if (!line.run_id.empty()) AB_RETURN_IF_ERROR(CheckRunId(line.run_id));
  read.Path("secret-file", line.secret_file);
  read.Read("secret-fd", line.secret_descriptor, WholeNumberFrom(0));
  if (!line.secret_file.empty() && line.secret_descriptor.has_value()) {
    return Contradict("--secret-file", "--secret-fd", "there is one secret");
  }
  read.Read("wait", line.wait, TimeSpan);
  return read.status();
}

absl::Status ReadStart(FlagReader& read, LaunchLine& line) {
  read.Read("world-size", line.world_size, WholeNumberFrom(1));
  read.Read("fallback-batch", line.fallback_batch, WholeNumberFrom(1));
  read.Enum("when-world-changes", line.when_world_changes);
  read.Read("grace", line.grace, TimeSpan);
  read.Text("interface", line.interface);
  AB_RETURN_IF_ERROR(read.status());
  if (line.fallback_batch.value_or(0) > kMaxMicroBatch) {
    return absl::InvalidArgumentError(absl::StrCat("--fallback-batch: ", *line.fallback_batch,
                                                   " is above ", kMaxMicroBatch,
                                                   ", the largest batch of a rank"));
  }
  line.allow_simulated = read.Switch("allow-simulated");
  if (line.worker && line.world_size.has_value()) {
    return Contradict("--worker", "--world-size", "a worker's world is what its launcher says");
  }
  if (line.worker && line.when_world_changes.has_value()) {
    return Contradict("--worker", "--when-world-changes", "a worker becomes its command");
  }
  if (line.worker && line.socket.empty() && line.record.empty()) {
    return absl::InvalidArgumentError(
        "--worker asks this node's agent: give --socket PATH (the agent's --socket, or "
        "$AUTOBATCH_SOCKET), or --record FILE");
  }
  return absl::OkStatus();
}

absl::Status ReadHost(FlagReader& read, LaunchLine& line) {
  read.Read("min-nodes", line.min_nodes, WholeNumberFrom(1));
  read.Read("max-nodes", line.max_nodes, WholeNumberFrom(1));
  read.Text("coordinator", line.coordinator);
  std::string probe;
  read.Text("probe", probe);
  AB_RETURN_IF_ERROR(read.status());
  if (line.min_nodes.value_or(1) > line.max_nodes.value_or(line.min_nodes.value_or(1))) {
    return Contradict("--min-nodes", "--max-nodes", "the minimum is above the maximum");
  }
  line.host_coordinator = read.Switch("host-coordinator");
  if (line.host_coordinator && !line.coordinator.empty()) {
    return Contradict("--host-coordinator", "--coordinator", "it is here, or it is there");
  }
  AB_ASSIGN_OR_RETURN(line.probe_command, SplitWords(probe));
  return absl::OkStatus();
}

// Options that only a program that agrees can follow.
absl::Status CheckNothingHosted(const po::variables_map& values, const LaunchLine& line) {
  if (AgreesHere(line)) return absl::OkStatus();
  std::string given;
  if (line.host_coordinator) given = "--host-coordinator";
  for (const char* name : {"min-nodes", "max-nodes", "coordinator", "probe"}) {
    if (values.count(name) > 0) given = absl::StrCat("--", name);
  }
  for (const auto* arguments : {&line.credential_arguments, &line.plan_arguments,
                                &line.coordinator_arguments, &line.agent_arguments}) {
    if (!arguments->empty()) given = arguments->front();
  }
  if (given.empty()) return absl::OkStatus();
  return Contradict(given, line.worker ? "--worker" : "--record",
                    "nothing is agreed here, the record is there already");
}

absl::Status ReadOutput(FlagReader& read, LaunchLine& line) {
  read.Read("format", line.format, FormatNamed);
  read.Path("publish", line.publish);
  AB_RETURN_IF_ERROR(read.status());
  line.quiet = read.Switch("quiet");
  const bool output = line.format.has_value() || !line.publish.empty();
  if (line.format.has_value() && !line.publish.empty()) {
    return Contradict("--format", "--publish", "one writes to stdout, the other to a folder");
  }
  if (output && !line.command.empty()) {
    return Contradict(line.publish.empty() ? "--format" : "--publish", "a command",
                      "the values are written instead of starting it");
  }
  if (!output && line.command.empty()) {
    return absl::InvalidArgumentError(
        "no command follows '--', such as: -- torchrun --nproc-per-node=8 train.py --batch-size "
        "{micro_batch}");
  }
  if (line.format == LaunchFormat::kSlurmTaskProlog && !line.worker) {
    return absl::InvalidArgumentError(
        "--format slurm-task-prolog is for one task: give --worker too");
  }
  if (line.worker && !line.publish.empty()) {
    return Contradict("--worker", "--publish", "an init container writes what all ranks need");
  }
  return CheckTrainingPlaceholders(line.command);
}

// Parses all options, and hands out those that are the coordinator's and the agent's.
absl::StatusOr<po::variables_map> ParseOptions(std::span<const std::string> arguments,
                                               LaunchLine& line) {
  const po::options_description all = AllLaunchOptions();
  AB_ASSIGN_OR_RETURN(po::variables_map values,
                      ParseFlags(all, arguments, "the command to start follows '--'"));
  const po::options_description own = LaunchOptions();
  const po::options_description plan = HostedPlanOptions();
  const po::options_description coordinator = HostedCoordinatorOptions();
  const po::options_description credentials = CredentialOptions();
  po::options_description agent = AgentOptions();
  agent.add(ProbeOptions());
  const auto parsed =
      po::command_line_parser(std::vector<std::string>(arguments.begin(), arguments.end()))
          .options(all)
          .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
          .run();
  // A coordinator that is elsewhere was told what to plan.
  const bool plans = values.count("coordinator") == 0;
  for (const auto& option : parsed.options) {
    const auto in = [&option](const po::options_description& options) {
      return options.find_nothrow(option.string_key, false) != nullptr;
    };
    if (in(own)) continue;
    const auto hand_to = [&option](std::vector<std::string>& theirs) {
      theirs.insert(theirs.end(), option.original_tokens.begin(), option.original_tokens.end());
    };
    if (in(credentials)) {
      hand_to(line.credential_arguments);
      continue;
    }
    // How long to wait for each other is both ends'; what a step is, the trials' and the plan's.
    if (in(plan) && (plans || !in(agent))) hand_to(line.plan_arguments);
    if (in(coordinator)) hand_to(line.coordinator_arguments);
    if (in(agent)) hand_to(line.agent_arguments);
  }
  return values;
}

}  // namespace

absl::StatusOr<LaunchLine> ParseLaunchLine(std::span<const std::string> arguments,
                                           const Environment& environment) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  LaunchLine line;
  AB_ASSIGN_OR_RETURN(const po::variables_map values,
                      ParseOptions({arguments.begin(), dashes}, line));
  line.print_and_exit = HelpOrVersion(values, LaunchHelpText);
  if (!line.print_and_exit.empty()) return line;
  if (dashes != arguments.end()) line.command.assign(dashes + 1, arguments.end());
  FlagReader read(values);
  AB_RETURN_IF_ERROR(ReadSource(read, environment, line));
  AB_RETURN_IF_ERROR(ReadStart(read, line));
  AB_RETURN_IF_ERROR(ReadHost(read, line));
  AB_RETURN_IF_ERROR(ReadOutput(read, line));
  AB_RETURN_IF_ERROR(CheckNothingHosted(values, line));
  return line;
}

}  // namespace autobatch
