#include "autobatch/probe/command_line.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdlib>
#include <optional>
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
#include "autobatch/base/version.h"
#include "autobatch/probe/command_line_options.h"
#include "autobatch/types/builtin_workloads.h"
#include "autobatch/types/command_template.h"
#include "autobatch/types/enum_names.h"
#include "autobatch/types/tensor_spec.h"

namespace autobatch {
namespace {

namespace po = boost::program_options;

// Reads one option after the other; keeps the first error.
class Reader {
 public:
  explicit Reader(const po::variables_map& values) : values_(values) {}

  const absl::Status& status() const { return status_; }

  bool Switch(const char* name) const { return values_[name].as<bool>(); }

  // Calls parse(text) if the option was given, and keeps its value or its error.
  template <typename T, typename Parse>
  void Read(const char* name, T& out, Parse parse) {
    if (!status_.ok() || values_.count(name) == 0) return;
    auto value = parse(values_[name].as<std::string>());
    if (value.ok()) {
      out = *std::move(value);
    } else {
      status_ =
          absl::InvalidArgumentError(absl::StrCat("--", name, ": ", value.status().message()));
    }
  }

  template <typename T>
  void Enum(const char* name, T& out) {
    Read(name, out, [name](const std::string& text) {
      return ParseEnum<std::decay_t<decltype(ValueType(OutType<T>()))>>(name, text);
    });
  }

 private:
  template <typename T>
  struct OutType {};
  template <typename T>
  static T ValueType(OutType<T>);
  template <typename T>
  static T ValueType(OutType<std::optional<T>>);

  const po::variables_map& values_;
  absl::Status status_;
};

absl::StatusOr<int64_t> WholeNumber(const std::string& text) {
  int64_t value = 0;
  if (absl::SimpleAtoi(text, &value)) return value;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a whole number, such as 64"));
}

absl::StatusOr<double> Number(const std::string& text) {
  double value = 0;
  if (absl::SimpleAtod(text, &value)) return value;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a number, such as 0.6"));
}

absl::StatusOr<absl::Duration> Time(const std::string& text) {
  absl::Duration value;
  if (absl::ParseDuration(text, &value)) return value;
  if (double seconds = 0; absl::SimpleAtod(text, &seconds)) return absl::Seconds(seconds);
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a time, such as 90s or 5m"));
}

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

absl::Status ReadCommand(const po::variables_map& values, Reader& read,
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
  // Whether and on how much it evaluates is its own affair.
  workload.evaluation_batch = 0;
  return absl::OkStatus();
}

absl::Status ReadWorkload(const po::variables_map& values, Reader& read, ProbeSpec& probe) {
  WorkloadSpec& workload = probe.workload;
  const std::string name =
      values.count("workload") > 0 ? values["workload"].as<std::string>() : workload.name;
  if (IsFile(name)) {
    workload.kind = WorkloadKind::kTorchScript;
    workload.name = ResolveUserPath(name);
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
  if (values.count("input") > 0) {
    for (const std::string& text : values["input"].as<std::vector<std::string>>()) {
      const absl::StatusOr<TensorSpec> input = ParseTensorSpec(text);
      if (!input.ok()) {
        return absl::InvalidArgumentError(absl::StrCat("--input: ", input.status().message()));
      }
      workload.inputs.push_back(*input);
    }
  }
  read.Read("target", workload.target, ParseTensorSpec);
  if (values.count("loss") > 0) workload.loss = values["loss"].as<std::string>();
  AB_RETURN_IF_ERROR(read.status());
  return ValidateWorkload(workload);
}

void ReadDevices(const po::variables_map& values, Reader& read, ProbeSpec& probe) {
  if (values.count("device") > 0) probe.devices = values["device"].as<std::string>();
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

void ReadSearch(Reader& read, ProbeSpec& probe) {
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
  read.Read("time-limit", probe.time_limit, Time);
  read.Read("trial-timeout", probe.trial_timeout, Time);
  read.Read("seed", probe.seed, WholeNumber);
}

absl::Status ReadOutput(const po::variables_map& values, Reader& read, CommandLine& line) {
  read.Enum("format", line.format);
  if (values.count("json") > 0) {
    line.json_path = values["json"].as<std::string>();
  }
  if (values.count("html") > 0) line.html_path = values["html"].as<std::string>();
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
  if (!line.html_path.empty()) line.html_path = ResolveUserPath(line.html_path);
  if (!line.json_path.empty() && line.json_path != "-") {
    line.json_path = ResolveUserPath(line.json_path);
  }
  line.quiet = read.Switch("quiet");
  line.verbose = read.Switch("verbose");
  line.probe.use_cache = !read.Switch("no-cache");
  if (values.count("cache-dir") > 0) {
    if (!line.probe.use_cache) {
      return absl::InvalidArgumentError("--no-cache and --cache-dir contradict: ask for one");
    }
    line.probe.cache_directory = ResolveUserPath(values["cache-dir"].as<std::string>());
  }
  return read.status();
}

absl::Status UnknownOption(const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  std::vector<std::string> valid;
  const po::options_description all = AllOptions();
  for (const auto& option : all.options()) valid.push_back(absl::StrCat("--", option->long_name()));
  const std::string nearest = Nearest(name, valid);
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown option '", name, "'",
      nearest.empty() ? "; see --help" : absl::StrCat("; did you mean '", nearest, "'?")));
}

absl::StatusOr<po::variables_map> ParseOptions(std::span<const std::string> arguments) {
  const po::options_description all = AllOptions();
  po::variables_map values;
  try {
    const auto parsed =
        po::command_line_parser(std::vector<std::string>(arguments.begin(), arguments.end()))
            .options(all)
            .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
            .positional({})
            .run();
    for (const auto& option : parsed.options) {
      if (option.value.size() == 1 && option.value[0].empty()) {
        return absl::InvalidArgumentError(absl::StrCat("--", option.string_key, " is empty"));
      }
    }
    po::store(parsed, values);
  } catch (const po::unknown_option& error) {
    return UnknownOption(error.get_option_name());
  } catch (const po::too_many_positional_options_error&) {
    return absl::InvalidArgumentError(
        "an argument stands without its option; a workload is named by --workload NAME, a command "
        "of your own follows '--'");
  } catch (const po::error& error) {
    return absl::InvalidArgumentError(absl::StrCat(error.what(), "; see --help"));
  }
  return values;
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(std::span<const std::string> arguments) {
  // Everything behind the first "--" is the command's, whatever it looks like.
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const bool has_command = dashes != arguments.end();
  const std::span<const std::string> own(arguments.begin(), dashes);
  AB_ASSIGN_OR_RETURN(const po::variables_map values, ParseOptions(own));
  CommandLine line;
  Reader read(values);
  if (read.Switch("help")) line.print_and_exit = HelpText();
  if (read.Switch("version")) line.print_and_exit = absl::StrCat("autobatch ", kVersion, "\n");
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
