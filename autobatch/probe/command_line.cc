#include "autobatch/probe/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "autobatch/base/files.h"
#include "autobatch/base/nearest.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/units.h"
#include "autobatch/probe/command_line_options.h"
#include "autobatch/probe/flag_reader.h"
#include "autobatch/types/builtin_workloads.h"
#include "autobatch/types/command_template.h"
#include "autobatch/types/enum_names.h"
#include "autobatch/types/launched_ranks.h"
#include "autobatch/types/tensor_spec.h"

namespace autobatch {
namespace {

namespace po = boost::program_options;

absl::StatusOr<Precision> PrecisionNamed(const std::string& text) {
  if (double number = 0; absl::SimpleAtod(text, &number)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text,
        "' is a number; for how close to the maximum the answer is, right would be "
        "--tolerance ",
        text, "; --precision is one of ", absl::StrJoin(EnumNames<Precision>(), ", ")));
  }
  return ParseEnum<Precision>("precision", text);
}

absl::StatusOr<Strategy> StrategyNamed(const std::string& text) {
  // 8.4 is a version: no enumerator can be spelt so.
  if (text == "ultralytics-8.4") return Strategy::kUltralytics84;
  const std::vector<std::string> valid = {"confirm", "yolov5", "ultralytics", "ultralytics-8.4"};
  if (std::find(valid.begin(), valid.end(), text) == valid.end()) {
    return UnknownName("strategy", text, valid);
  }
  return ParseEnum<Strategy>("strategy", text);
}

// No built-in model's name has a dot: model.pt, model.torchscript.
bool IsFile(absl::string_view workload) {
  return absl::StrContains(workload, "/") || absl::StrContains(workload, ".");
}

absl::Status CheckTorchScript(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    errno = EISDIR;
  } else if (access(path.c_str(), R_OK) == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("--workload: cannot read the TorchScript file '",
                                                 path, "': ", std::strerror(errno)));
}

// An option that the workload has no use for was meant for another one.
absl::Status CheckOptionsBelong(const po::variables_map& values, const WorkloadSpec& workload) {
  const bool file = workload.kind == WorkloadKind::kTorchScript;
  BuiltinWorkload model;
  if (!file) {
    AB_ASSIGN_OR_RETURN(model, FindBuiltinWorkload(workload.name));
  }
  const struct {
    const char* option;
    bool belongs;
  } options[] = {{"input", file},
                 {"target", file},
                 {"loss", file},
                 {"image-size", model.image_size > 0},
                 {"sequence-length", model.sequence_length > 0},
                 {"classes", model.classes > 0},
                 {"max-objects", model.max_objects > 0}};
  for (const auto& [option, belongs] : options) {
    if (belongs || values.count(option) == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", option, " means nothing to ", file ? "the TorchScript file " : "",
                     workload.name, file ? "; say its sizes with --input and --target" : ""));
  }
  return absl::OkStatus();
}

// What the command's own arguments and code decide.
constexpr const char* kNotOfCommands[] = {
    "workload",      "precision",       "optimizer",  "zero-grad",       "ema",
    "channels-last", "cudnn-benchmark", "image-size", "sequence-length", "classes",
    "max-objects",   "eval-batch",      "input",      "target",          "loss"};

absl::Status ReadCommand(const po::variables_map& values, FlagReader& read,
                         std::span<const std::string> command, ProbeSpec& probe) {
  if (command.empty()) {
    return absl::InvalidArgumentError(
        "no command follows '--', such as: -- python train.py --batch-size {batch}");
  }
  for (const char* option : kNotOfCommands) {
    if (values.count(option) == 0 || values[option].defaulted()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", option, " and a command contradict: ",
                     absl::string_view(option) == "workload"
                         ? "the command is the workload"
                         : "what the training step is, the command's own arguments and code say"));
  }
  read.Read("strategy", probe.strategy, StrategyNamed);
  AB_RETURN_IF_ERROR(read.status());
  if (probe.strategy != Strategy::kConfirm) {
    return absl::InvalidArgumentError(
        "--strategy and a command contradict: a seed estimator profiles models; leave it out");
  }
  AB_RETURN_IF_ERROR(CheckPlaceholders(command));
  WorkloadSpec& workload = probe.workload;
  workload.kind = WorkloadKind::kCommand;
  workload.name = "command";
  workload.command.assign(command.begin(), command.end());
  probe.launched = FindLaunchedRanks(command);
  // Whether and on how much it evaluates is its own affair.
  workload.evaluation_batch = 0;
  return absl::OkStatus();
}

absl::Status ReadWorkload(const po::variables_map& values, FlagReader& read, ProbeSpec& probe) {
  WorkloadSpec& workload = probe.workload;
  const std::string name =
      values.count("workload") > 0 ? values["workload"].as<std::string>() : workload.name;
  if (IsFile(name)) {
    workload.kind = WorkloadKind::kTorchScript;
    workload.name = ResolveUserPath(name);
    // Before what else is wrong: it may all come from a misspelt name.
    AB_RETURN_IF_ERROR(CheckTorchScript(workload.name));
  } else {
    AB_ASSIGN_OR_RETURN(workload, BuiltinWorkloadSpec(name));
  }
  AB_RETURN_IF_ERROR(CheckOptionsBelong(values, workload));
  read.Read("precision", probe.precision, PrecisionNamed);
  read.Enum("optimizer", workload.optimizer);
  read.Enum("zero-grad", workload.zero_grad);
  workload.ema = read.Switch("ema");
  workload.channels_last = read.Switch("channels-last");
  workload.cudnn_benchmark = read.Switch("cudnn-benchmark");
  read.Read("image-size", workload.image_size, WholeNumber);
  read.Read("sequence-length", workload.sequence_length, WholeNumber);
  read.Read("classes", workload.classes, WholeNumber);
  read.Read("max-objects", workload.max_objects, WholeNumber);
  read.Read("eval-batch", workload.evaluation_batch, WholeNumber);
  for (const std::string& text : read.Texts("input")) {
    const absl::StatusOr<TensorSpec> input = ParseTensorSpec(text);
    if (!input.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--input: ", input.status().message()));
    }
    workload.inputs.push_back(*input);
  }
  read.Read("target", workload.target, ParseTensorSpec);
  read.Text("loss", workload.loss);
  AB_RETURN_IF_ERROR(read.status());
  return ValidateWorkload(workload);
}

void ReadDevices(const po::variables_map& values, FlagReader& read, ProbeSpec& probe) {
  read.Text("device", probe.devices);
  read.Enum("scope", probe.scope);
  read.Read("parallel", probe.parallel, WholeNumber);
  read.Read("memory-limit", probe.memory_limit_bytes, ParseBytes);
  if (values.count("headroom") > 0 && absl::EndsWith(values["headroom"].as<std::string>(), "%")) {
    read.Read("headroom", probe.headroom_fraction, [](absl::string_view text) {
      absl::StatusOr<double> percent = Number(std::string(absl::StripSuffix(text, "%")));
      if (percent.ok()) *percent /= 100;
      return percent;
    });
  } else {
    read.Read("headroom", probe.headroom_bytes, ParseBytes);
  }
  read.Read("communicator", probe.communicator_bytes, ParseBytes);
  read.Read("world-size", probe.world_size, WholeNumber);
}

void ReadSearch(FlagReader& read, ProbeSpec& probe) {
  read.Read("strategy", probe.strategy, StrategyNamed);
  read.Read("fraction", probe.fraction, Number);
  probe.confirm_estimate = read.Switch("confirm");
  read.Read("max-batch", probe.max_batch, WholeNumber);
  read.Read("dataset-size", probe.dataset_size, WholeNumber);
  read.Read("multiple-of", probe.multiple_of, WholeNumber);
  probe.power_of_two = read.Switch("power-of-two");
  read.Read("tolerance", probe.tolerance, Number);
  probe.throughput_knee = read.Switch("throughput-knee");
  read.Read("steps", probe.explore_steps, WholeNumber);
  probe.confirm_steps = std::max(probe.confirm_steps, probe.explore_steps);
  read.Read("confirm-steps", probe.confirm_steps, WholeNumber);
  read.Read("accumulation", probe.accumulation, WholeNumber);
  read.Read("time-limit", probe.time_limit, TimeSpan);
  read.Read("trial-timeout", probe.trial_timeout, TimeSpan);
  read.Read("seed", probe.seed, WholeNumber);
}

absl::Status ReadOutput(const po::variables_map& values, FlagReader& read, CommandLine& line) {
  read.Enum("format", line.format);
  read.Output("json", line.json_path);
  read.Output("html", line.html_path);
  if (line.json_path == "-" && line.format == OutputFormat::kEnv) {
    return absl::InvalidArgumentError(
        "--json - and --format env both want stdout; write the JSON to a file");
  }
  if (line.html_path == "-") {
    return absl::InvalidArgumentError("--html - : a page needs a file; stdout takes --json -");
  }
  if (!line.html_path.empty() && line.html_path == line.json_path) {
    return absl::InvalidArgumentError("--json and --html contradict: both name the same file");
  }
  line.quiet = read.Switch("quiet");
  line.probe.use_cache = !read.Switch("no-cache");
  if (values.count("cache-dir") > 0) {
    if (!line.probe.use_cache) {
      return absl::InvalidArgumentError("--no-cache and --cache-dir contradict: ask for one");
    }
    read.Path("cache-dir", line.probe.cache_directory);
  }
  return read.status();
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(std::span<const std::string> arguments) {
  // Everything behind the first "--" is the command's, whatever it looks like.
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const bool has_command = dashes != arguments.end();
  const std::span<const std::string> own(arguments.begin(), dashes);
  AB_ASSIGN_OR_RETURN(
      const po::variables_map values,
      ParseFlags(AllOptions(), own,
                 "a workload is named by --workload NAME, a command of your own follows '--'"));
  CommandLine line;
  FlagReader read(values);
  line.print_and_exit = HelpOrVersion(values, HelpText);
  if (!line.print_and_exit.empty()) return line;

  if (has_command) {
    AB_RETURN_IF_ERROR(ReadCommand(values, read, {dashes + 1, arguments.end()}, line.probe));
  } else {
    AB_RETURN_IF_ERROR(ReadWorkload(values, read, line.probe));
  }
  ReadDevices(values, read, line.probe);
  ReadSearch(read, line.probe);
  AB_RETURN_IF_ERROR(ReadOutput(values, read, line));
  AB_RETURN_IF_ERROR(Validate(line.probe));
  return line;
}

}  // namespace autobatch
