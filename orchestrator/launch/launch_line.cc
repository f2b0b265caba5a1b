#include "orchestrator/launch/launch_line.h"

#include <algorithm>
#include <boost/program_options.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autobatch/base/files.h"
#include "autobatch/base/nearest.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/version.h"
#include "autobatch/probe/flag_reader.h"
#include "autobatch/types/enum_names.h"
#include "orchestrator/dialect/run_id.h"
#include "orchestrator/launch/launch_options.h"
#include "orchestrator/launch/split_words.h"
#include "orchestrator/launch/training_values.h"
#include "orchestrator/service/credential_flags.h"
#include "orchestrator/wire/message_rules.h"

namespace autobatch {
namespace {

namespace po = boost::program_options;

std::string TextOf(const po::variables_map& values, const char* name) {
  return values.count(name) > 0 ? values[name].as<std::string>() : "";
}

absl::Status Wrong(const char* name, absl::string_view text, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", name, " '", absl::CEscape(text), "': expected ", expected));
}

absl::Status ReadNumber(const po::variables_map& values, const char* name, int64_t least,
                        std::optional<int64_t>& out) {
  if (values.count(name) == 0) return absl::OkStatus();
  int64_t number = 0;
  const std::string text = TextOf(values, name);
  if (!absl::SimpleAtoi(text, &number) || number < least) {
    return Wrong(name, text, absl::StrCat("a whole number from ", least, " up"));
  }
  out = number;
  return absl::OkStatus();
}

absl::Status ReadTime(const po::variables_map& values, const char* name, absl::Duration& out) {
  if (values.count(name) == 0) return absl::OkStatus();
  const std::string text = TextOf(values, name);
  double seconds = 0;
  const bool plain = absl::SimpleAtod(text, &seconds);
  if (plain) out = absl::Seconds(seconds);
  if ((!plain && !absl::ParseDuration(text, &out)) || out < absl::ZeroDuration()) {
    return Wrong(name, text, "a time, such as 90s or 5m");
  }
  return absl::OkStatus();
}

// Enumerators are spelt with '-' on a command line.
template <typename T>
absl::Status ReadEnum(const po::variables_map& values, const char* name, std::optional<T>& out) {
  if (values.count(name) == 0) return absl::OkStatus();
  std::vector<std::string> valid;
  for (const std::string& known : EnumNames<T>()) {
    valid.push_back(absl::StrReplaceAll(known, {{"_", "-"}}));
    if (valid.back() == TextOf(values, name)) {
      AB_ASSIGN_OR_RETURN(out, ParseEnum<T>(name, known));
      return absl::OkStatus();
    }
  }
  return UnknownName(absl::StrCat("--", name), TextOf(values, name), valid);
}

absl::Status Contradict(absl::string_view one, absl::string_view other, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(one, " and ", other, " contradict: ", why));
}

absl::Status ReadSource(const po::variables_map& values, const Environment& environment,
                        LaunchLine& line) {
  const auto variable = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  line.worker = values["worker"].as<bool>();
  line.socket = TextOf(values, "socket");
  line.record = TextOf(values, "record");
  if (!line.socket.empty() && !line.record.empty()) {
    return Contradict("--socket", "--record", "the agent behind the socket has the record");
  }
  if (line.worker && line.socket.empty() && line.record.empty()) {
    line.socket = variable("AUTOBATCH_SOCKET");
    if (line.socket.empty()) line.record = variable("AUTOBATCH_RECORD");
  }
  if (!line.record.empty()) line.record = ResolveUserPath(line.record);
  if (!line.socket.empty()) line.socket = ResolveUserPath(line.socket);
  line.run_id = TextOf(values, "run-id");
  if (line.run_id.empty()) line.run_id = variable("AUTOBATCH_RUN_ID");
  if (!line.run_id.empty()) AB_RETURN_IF_ERROR(CheckRunId(line.run_id));
  line.secret_file = TextOf(values, "secret-file");
  AB_RETURN_IF_ERROR(ReadNumber(values, "secret-fd", 0, line.secret_descriptor));
  if (!line.secret_file.empty() && line.secret_descriptor.has_value()) {
    return Contradict("--secret-file", "--secret-fd", "there is one secret");
  }
  if (!line.secret_file.empty()) line.secret_file = ResolveUserPath(line.secret_file);
  return ReadTime(values, "wait", line.wait);
}

absl::Status ReadStart(const po::variables_map& values, LaunchLine& line) {
  AB_RETURN_IF_ERROR(ReadNumber(values, "world-size", 1, line.world_size));
  AB_RETURN_IF_ERROR(ReadNumber(values, "fallback-batch", 1, line.fallback_batch));
  if (line.fallback_batch.value_or(0) > kMaxMicroBatch) {
    return absl::InvalidArgumentError(absl::StrCat("--fallback-batch: ", *line.fallback_batch,
                                                   " is above ", kMaxMicroBatch,
                                                   ", the largest batch of a rank"));
  }
  AB_RETURN_IF_ERROR(ReadEnum(values, "when-world-changes", line.when_world_changes));
  AB_RETURN_IF_ERROR(ReadTime(values, "grace", line.grace));
  line.allow_simulated = values["allow-simulated"].as<bool>();
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

absl::Status ReadHost(const po::variables_map& values, LaunchLine& line) {
  AB_RETURN_IF_ERROR(ReadNumber(values, "min-nodes", 1, line.min_nodes));
  AB_RETURN_IF_ERROR(ReadNumber(values, "max-nodes", 1, line.max_nodes));
  if (line.min_nodes.value_or(1) > line.max_nodes.value_or(line.min_nodes.value_or(1))) {
    return Contradict("--min-nodes", "--max-nodes", "the minimum is above the maximum");
  }
  line.coordinator = TextOf(values, "coordinator");
  line.host_coordinator = values["host-coordinator"].as<bool>();
  if (line.host_coordinator && !line.coordinator.empty()) {
    return Contradict("--host-coordinator", "--coordinator", "it is here, or it is there");
  }
  AB_ASSIGN_OR_RETURN(line.probe_command, SplitWords(TextOf(values, "probe")));
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

absl::Status ReadOutput(const po::variables_map& values, LaunchLine& line) {
  AB_RETURN_IF_ERROR(ReadEnum(values, "format", line.format));
  line.publish = TextOf(values, "publish");
  if (!line.publish.empty()) line.publish = ResolveUserPath(line.publish);
  line.quiet = values["quiet"].as<bool>();
  line.verbose = values["verbose"].as<bool>();
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
  const auto parsed =
      po::command_line_parser(std::vector<std::string>(arguments.begin(), arguments.end()))
          .options(all)
          .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
          .run();
  for (const auto& option : parsed.options) {
    if (own.find_nothrow(option.string_key, false) != nullptr) continue;
    const auto in = [&option](const po::options_description& options) {
      return options.find_nothrow(option.string_key, false) != nullptr;
    };
    auto& theirs = in(credentials)   ? line.credential_arguments
                   : in(plan)        ? line.plan_arguments
                   : in(coordinator) ? line.coordinator_arguments
                                     : line.agent_arguments;
    theirs.insert(theirs.end(), option.original_tokens.begin(), option.original_tokens.end());
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
  if (values["help"].as<bool>()) line.print_and_exit = LaunchHelpText();
  if (values["version"].as<bool>()) {
    line.print_and_exit = absl::StrCat("autobatch ", kVersion, "\n");
  }
  if (!line.print_and_exit.empty()) return line;
  if (dashes != arguments.end()) line.command.assign(dashes + 1, arguments.end());
  AB_RETURN_IF_ERROR(ReadSource(values, environment, line));
  AB_RETURN_IF_ERROR(ReadStart(values, line));
  AB_RETURN_IF_ERROR(ReadHost(values, line));
  AB_RETURN_IF_ERROR(ReadOutput(values, line));
  AB_RETURN_IF_ERROR(CheckNothingHosted(values, line));
  return line;
}

}  // namespace autobatch
