#include "autobatch/probe/command_line.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <vector>

#include <boost/program_options.hpp>

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
#include "autobatch/types/builtin_workloads.h"
#include "autobatch/types/enum_names.h"
#include "autobatch/types/tensor_spec.h"

namespace autobatch {
namespace {

namespace po = boost::program_options;

constexpr unsigned kLineLength = 96;

po::typed_value<std::string>* Text(const char* name) {
  return po::value<std::string>()->value_name(name);
}

template <typename E>
std::string Choice() {
  return absl::StrJoin(EnumNames<E>(), "|");
}

po::options_description WorkloadOptions() {
  po::options_description group("What one training step is", kLineLength);
  group.add_options()
      ("workload", Text("NAME|FILE"), "a built-in model (below) or a TorchScript file (default: resnet18)")
      ("precision", Text("P"), "fp32, amp_fp16 (with loss scaling) or amp_bf16 (default: fp32 on the CPU, amp_fp16 on a GPU)")
      ("optimizer", Text("O"), "sgd, momentum, adam or adamw (default: momentum)")
      ("zero-grad", Text("Z"), "what zero_grad leaves: none or zero (default: none)")
      ("ema", po::bool_switch(), "keep an exponential moving average of the parameters")
      ("channels-last", po::bool_switch(), "NHWC memory layout")
      ("cudnn-benchmark", po::bool_switch(), "let cuDNN time its algorithms")
      ("image-size", Text("PX"), "pixels a side (default: 224)")
      ("sequence-length", Text("N"), "tokens a sample (default: 1024)")
      ("classes", Text("N"), "classes (default: 1000)")
      ("max-objects", Text("N"), "objects in the detector's worst image (default: 100)")
      ("eval-batch", Text("N"), "samples of the evaluation step; 0: none (default: the training batch)")
      ("input", po::value<std::vector<std::string>>()->value_name("SPEC"), "TorchScript: one input without its batch dimension, such as float32:3x224x224 or int64:128:0..50257; once for each")
      ("target", Text("SPEC"), "TorchScript: what the loss compares with, such as int64::0..1000")
      ("loss", Text("L"), "TorchScript: cross_entropy, mse, bce_with_logits, mean, or output (default: cross_entropy)");
  return group;
}

po::options_description DeviceOptions() {
  po::options_description group("Devices and memory", kLineLength);
  group.add_options()
      ("device", Text("LIST"), "cuda, cuda:0,2 (numbers as CUDA_VISIBLE_DEVICES leaves them) or cpu (default: every visible GPU, else the CPU)")
      ("parallel", Text("N"), "devices probed at the same time; 0: all (default: 0)")
      ("memory-limit", Text("SIZE"), "as if no more than this were free, such as 8GiB; the CPU takes at most 2 GiB without it")
      ("headroom", Text("SIZE|%"), "held back on top of everything measured, such as 1GiB or 5% (default: the larger of 256 MiB and 2 %)")
      ("communicator", Text("SIZE"), "held back for NCCL (default: 0 for one rank, else 1GiB)")
      ("world-size", Text("N"), "ranks of the data-parallel job (default: the devices probed)");
  return group;
}

po::options_description SearchOptions() {
  po::options_description group("The search", kLineLength);
  group.add_options()
      ("strategy", Text("S"), "confirm, or a seed estimator: yolov5, ultralytics, ultralytics-8.4 (default: confirm)")
      ("fraction", Text("F"), "share of the device that a seed estimator aims at (default: the original's)")
      ("confirm", po::bool_switch(), "run a seed estimator's answer too; without it the answer is an estimate")
      ("max-batch", Text("N"), "never answer more (default: 65536)")
      ("dataset-size", Text("N"), "samples in the data set; caps the batch at one rank's share")
      ("multiple-of", Text("N"), "round the answer down to a multiple, then confirm that")
      ("power-of-two", po::bool_switch(), "round the answer down to a power of two, then confirm that")
      ("tolerance", Text("F"), "how close to the true maximum, as a fraction (default: 0.03)")
      ("throughput-knee", po::bool_switch(), "stop where a larger batch trains no more samples a second")
      ("steps", Text("N"), "steps of an exploring trial, at least 3 (default: 3)")
      ("confirm-steps", Text("N"), "steps of the confirming trial, at least 4 (default: 8)")
      ("accumulation", Text("N"), "micro-steps in each optimizer step of the confirming trial (default: 1)")
      ("time-limit", Text("T"), "for each device, such as 90s or 5m (default: 120s on the CPU, none on a GPU)")
      ("trial-timeout", Text("T"), "a trial that takes longer is hung (default: 10m)")
      ("seed", Text("N"), "of the synthetic data (default: 0)");
  return group;
}

po::options_description OutputOptions() {
  po::options_description group("Output", kLineLength);
  group.add_options()
      ("format", Text("F"), "what stdout gets: table, json, or env (lines for eval) (default: table)")
      ("json", Text("FILE|-"), "write the whole report, every trial included; - is stdout")
      ("html", Text("FILE"), "write a page with the memory-against-batch plot of each device")
      ("quiet,q", po::bool_switch(), "no banner and no progress on stderr")
      ("verbose", po::bool_switch(), "log what is decided, to stderr")
      ("no-cache", po::bool_switch(), "do not use or keep earlier answers")
      ("cache-dir", Text("DIR"), "where they are (default: $XDG_CACHE_HOME/autobatch/results)")
      ("help,h", po::bool_switch(), "this text")
      ("version", po::bool_switch(), "the version");
  return group;
}

po::options_description AllOptions() {
  po::options_description all;
  return std::move(all.add(WorkloadOptions()).add(DeviceOptions()).add(SearchOptions()).add(
      OutputOptions()));
}

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
      status_ = absl::InvalidArgumentError(absl::StrCat("--", name, ": ", value.status().message()));
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
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a whole number, such as 64"));
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
        "'", text, "' is a number; for how close to the maximum the answer is, right would be "
        "--tolerance ", text, "; --precision is one of ", absl::StrJoin(EnumNames<Precision>(), ", ")));
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
      AB_ASSIGN_OR_RETURN(workload.inputs.emplace_back(), ParseTensorSpec(text));
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
    if (line.json_path != "-") line.json_path = ResolveUserPath(line.json_path);
  }
  if (values.count("html") > 0) line.html_path = ResolveUserPath(values["html"].as<std::string>());
  if (line.json_path == "-" && line.format == OutputFormat::kEnv) {
    return absl::InvalidArgumentError(
        "--json - and --format env both want stdout; write the JSON to a file");
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
  for (const std::string& argument : arguments) {
    if (argument != "--") continue;
    return absl::InvalidArgumentError(
        "a command as the workload ('-- COMMAND') is not supported by this version; name a "
        "built-in model or a TorchScript file with --workload");
  }
  const po::options_description all = AllOptions();
  po::variables_map values;
  try {
    const auto parsed =
        po::command_line_parser(std::vector<std::string>(arguments.begin(), arguments.end()))
            .options(all)
            .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
            .positional({})
            .run();
    po::store(parsed, values);
  } catch (const po::unknown_option& error) {
    return UnknownOption(error.get_option_name());
  } catch (const po::too_many_positional_options_error&) {
    return absl::InvalidArgumentError(
        "an argument stands without its option; a workload is named by --workload NAME");
  } catch (const po::error& error) {
    return absl::InvalidArgumentError(absl::StrCat(error.what(), "; see --help"));
  }
  return values;
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(std::span<const std::string> arguments) {
  AB_ASSIGN_OR_RETURN(const po::variables_map values, ParseOptions(arguments));
  CommandLine line;
  Reader read(values);
  if (read.Switch("help")) line.print_and_exit = HelpText();
  if (read.Switch("version")) line.print_and_exit = absl::StrCat("autobatch ", kVersion, "\n");
  if (!line.print_and_exit.empty()) return line;

  AB_RETURN_IF_ERROR(ReadWorkload(values, read, line.probe));
  ReadDevices(values, read, line.probe);
  ReadSearch(read, line.probe);
  AB_RETURN_IF_ERROR(ReadOutput(values, read, line));
  AB_RETURN_IF_ERROR(Validate(line.probe));
  return line;
}

std::string HelpText() {
  std::ostringstream text;
  text << "probe: the largest batch that a training step can safely take, on every device of this "
          "node.\n\n"
          "It runs real steps (forward, loss, backward, optimizer) at growing batch sizes, each in "
          "a child\nprocess under a hard memory limit, and answers only with a batch that it ran.\n\n"
          "  probe                                        resnet18 on every visible GPU, else the CPU\n"
          "  probe --workload gpt2 --optimizer adamw      another model\n"
          "  probe --workload model.pt --input float32:3x640x640 --target int64::0..80\n"
          "  probe --format env --quiet                   lines for a launch script to eval\n"
          "  probe --json report.json --html report.html  everything that was measured\n"
       << AllOptions() << "\nBuilt-in models:\n";
  for (const BuiltinWorkload& workload : BuiltinWorkloads()) {
    text << "  " << workload.name << std::string(12 - std::min<size_t>(11, workload.name.size()), ' ')
         << workload.description << "\n";
  }
  text << "\nExit status:\n"
          "  0  a batch for every device            5  the workload cannot run\n"
          "  1  internal error, or output lost      6  time was up before any batch was confirmed\n"
          "  2  wrong usage                         128 + n  ended by signal n (partial result "
          "printed)\n"
          "  3  no device                           4  nothing fits\n";
  return text.str();
}

}  // namespace autobatch
