#include "orchestrator/launch/rank_launcher.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstddef>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/files.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/json.h"
#include "orchestrator/launch/command_prefix.h"
#include "orchestrator/launch/launcher_words.h"

namespace autobatch {
namespace {

// Those of accelerate's and DeepSpeed's options that have no value; the others have one.
constexpr LauncherOption kAccelerateOptions[] = {{"--quiet", false},
                                                 {"-q", false},
                                                 {"--cpu", false},
                                                 {"--multi-gpu", false},
                                                 {"--tpu", false},
                                                 {"--ipex", false},
                                                 {"--enable-cpu-affinity", false},
                                                 {"--dynamo-use-fullgraph", false},
                                                 {"--dynamo-use-dynamic", false},
                                                 {"--dynamo-use-regional-compilation", false},
                                                 {"--use-deepspeed", false},
                                                 {"--use-fsdp", false},
                                                 {"--use-parallelism-config", false},
                                                 {"--use-megatron-lm", false},
                                                 {"--use-xpu", false},
                                                 {"--same-network", false},
                                                 {"--module", false},
                                                 {"-m", false},
                                                 {"--no-python", false},
                                                 {"--tpu-cluster", false},
                                                 {"--no-tpu-cluster", false},
                                                 {"--tpu-use-sudo", false},
                                                 {"--downcast-bf16", false},
                                                 {"--fp8-use-autocast-during-eval", false},
                                                 {"--debug", false},
                                                 {"--help", false},
                                                 {"-h", false},
                                                 {"--num-processes"},
                                                 {"--num-machines"},
                                                 {"--num-cpu-threads-per-process"},
                                                 {"--config-file"},
                                                 {"--gpu-ids"}};

constexpr LauncherOption kDeepSpeedOptions[] = {{"--module", false},
                                                {"--no-python", false},
                                                {"--no-local-rank", false},
                                                {"--no-ssh-check", false},
                                                {"--no-ssh", false},
                                                {"--force-multi", false},
                                                {"--save-pid", false},
                                                {"--elastic-training", false},
                                                {"--bind-cores-to-rank", false},
                                                {"--help", false},
                                                {"-h", false},
                                                {"--hostfile"},
                                                {"-H"},
                                                {"--include"},
                                                {"-i"},
                                                {"--exclude"},
                                                {"-e"},
                                                {"--num-nodes"},
                                                {"--num-gpus"},
                                                {"--num-accelerators"},
                                                {"--node-rank"}};

// DeepSpeed's own default.
constexpr char kHostFile[] = "/job/hostfile";

// Launchers whose options are not read here: the program, and the word behind it, if any.
constexpr std::array<std::pair<absl::string_view, absl::string_view>, 5> kByNameOnly = {
    {{"composer", ""},
     {"horovodrun", ""},
     {"colossalai", "run"},
     {"tune", "run"},
     {"fabric", "run"}}};

using Given = std::map<std::string, std::string, std::less<>>;

std::string Variable(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::optional<std::string> ValueOf(const Given& given, absl::string_view option) {
  const auto found = given.find(option);
  if (found == given.end()) return std::nullopt;
  return found->second;
}

absl::Status Wrong(absl::string_view what, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", why));
}

// Why the ranks cannot be counted, and what helps.
absl::Status Unknown(absl::string_view what, absl::string_view why, absl::string_view instead) {
  return Wrong(what, absl::StrCat(why, "; give launch --world-size N, all ranks of the job",
                                  instead.empty() ? "" : ", or ", instead));
}

absl::StatusOr<std::optional<int64_t>> CountOf(const Given& given, absl::string_view launcher,
                                               absl::string_view option) {
  const std::optional<std::string> text = ValueOf(given, option);
  if (!text.has_value()) return std::nullopt;
  int32_t number = 0;
  if (!absl::SimpleAtoi(*text, &number) || number < 1) {
    return Wrong(absl::StrCat(launcher, "'s ", option, " '", absl::CEscape(*text), "'"),
                 "expected a number from 1");
  }
  return number;
}

// The options in front of the program, which `program` is set to.
absl::StatusOr<Given> OptionsOf(std::span<const std::string> command, size_t at,
                                std::span<const LauncherOption> known, size_t& program) {
  Given given;
  AB_ASSIGN_OR_RETURN(
      program,
      ReadLauncherOptions(command, at, known, [&](absl::string_view name, absl::string_view value) {
        given[std::string(name)] = std::string(value);
        return absl::OkStatus();
      }));
  return given;
}

// Where accelerate finds its defaults; empty: nowhere.
std::string ConfigFile(const Given& given, const Environment& environment) {
  if (const auto named = ValueOf(given, "--config-file")) return *named;
  std::string home = Variable(environment, "HF_HOME");
  if (home.empty()) {
    home = Variable(environment, "XDG_CACHE_HOME");
    if (home.empty()) home = absl::StrCat(Variable(environment, "HOME"), "/.cache");
    home += "/huggingface";
  }
  const std::string path = home + "/accelerate/default_config.yaml";
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) ? path : "";
}

// The fields of JSON's or YAML's top level; of YAML only as `accelerate config` writes it, a line
// each.
absl::StatusOr<Given> ConfigFields(const std::string& path) {
  AB_ASSIGN_OR_RETURN(const std::string text, ReadFile(ResolveUserPath(path)));
  Given fields;
  if (absl::EndsWith(path, ".json")) {
    AB_ASSIGN_OR_RETURN(const boost::json::value json, ParseJson(text));
    if (!json.is_object()) return absl::InvalidArgumentError("no object");
    for (const auto& [name, value] : json.get_object()) {
      fields[std::string(name)] =
          value.is_string() ? std::string(value.get_string()) : boost::json::serialize(value);
    }
    return fields;
  }
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty() || absl::ascii_isspace(line[0])) continue;  // of an inner level
    std::string plain(line.substr(0, line.find('#')));
    std::erase_if(plain, [](char c) { return absl::StrContains(" \t\r'\"", c); });
    const std::pair<std::string, std::string> field =
        absl::StrSplit(plain, absl::MaxSplits(':', 1));
    fields[field.first] = field.second;
  }
  return fields;
}

// What is not given on the command line.
absl::Status TakeConfig(absl::string_view launcher, const std::string& path, Given& given) {
  const absl::StatusOr<Given> fields = ConfigFields(path);
  if (!fields.ok()) {
    return Wrong(absl::StrCat(launcher, "'s configuration ", path), fields.status().message());
  }
  for (const auto& [field, option] : {std::pair{"num_processes", "--num-processes"},
                                      std::pair{"num_machines", "--num-machines"}}) {
    if (const auto value = ValueOf(*fields, field)) given.emplace(option, *value);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<RankLauncher>> Accelerate(Given given, const Environment& environment,
                                                       std::optional<int64_t> told) {
  const std::string name = "accelerate launch";
  // One process, or cores of a TPU.
  if (given.contains("--cpu") || given.contains("--tpu")) return std::nullopt;
  const std::string config = ConfigFile(given, environment);
  if (!config.empty()) AB_RETURN_IF_ERROR(TakeConfig(name, config, given));
  RankLauncher launcher{.name = name, .said_by = "--num_processes"};
  AB_ASSIGN_OR_RETURN(const auto machines, CountOf(given, name, "--num-machines"));
  AB_ASSIGN_OR_RETURN(launcher.processes, CountOf(given, name, "--num-processes"));
  launcher.nodes = machines.value_or(1);
  if (launcher.processes.has_value() && *launcher.processes % *launcher.nodes != 0) {
    return Wrong(absl::StrCat(name, "'s --num_processes ", *launcher.processes),
                 absl::StrCat("is the number of all, and no multiple of the ", *launcher.nodes,
                              " machines"));
  }
  if (launcher.processes.has_value() || told.has_value()) return launcher;
  if (!config.empty()) {
    return Unknown(absl::StrCat(name, "'s configuration ", config), "it has no num_processes",
                   "accelerate --num_processes N");
  }
  if (*launcher.nodes > 1) {
    return Unknown(absl::StrCat(name, "'s --num_machines ", *launcher.nodes),
                   "without --num_processes it would divide one machine's GPUs by that",
                   "accelerate --num_processes N");
  }
  if (const auto ids = ValueOf(given, "--gpu-ids"); ids.has_value() && *ids != "all") {
    return Unknown(
        absl::StrCat(name, "'s --gpu_ids ", absl::CEscape(*ids)),
        "the devices of a job are those that launch sees, too",
        absl::StrCat("CUDA_VISIBLE_DEVICES=", absl::CEscape(*ids), " in front of launch"));
  }
  return launcher;
}

absl::StatusOr<std::optional<RankLauncher>> DeepSpeed(const Given& given,
                                                      std::optional<int64_t> told) {
  RankLauncher launcher{.name = "deepspeed", .dialect = Dialect::kEnv, .said_by = "--num_gpus"};
  if (given.contains("--elastic-training")) {
    return Wrong("deepspeed's --elastic_training",
                 "a world that changes is followed of torchrun only: torchrun --nnodes=MIN:MAX");
  }
  const std::string hosts =
      ValueOf(given, "--hostfile").value_or(ValueOf(given, "-H").value_or(kHostFile));
  std::error_code ignored;
  const bool several = std::filesystem::exists(ResolveUserPath(hosts), ignored);
  if (!several) launcher.nodes = 1;
  if (told.has_value()) return launcher;
  if (several) {
    return Unknown(absl::StrCat("deepspeed's host file ", hosts),
                   "how many ranks it makes of that is not read here", "");
  }
  for (const char* option : {"--include", "-i", "--exclude", "-e"}) {
    const auto value = ValueOf(given, option);
    if (!value.has_value()) continue;
    return Unknown(absl::StrCat("deepspeed's ", option, " ", absl::CEscape(*value)),
                   "which devices that leaves is not read here",
                   "CUDA_VISIBLE_DEVICES in front of launch");
  }
  AB_ASSIGN_OR_RETURN(launcher.processes, CountOf(given, launcher.name, "--num-gpus"));
  if (!launcher.processes.has_value()) {
    AB_ASSIGN_OR_RETURN(launcher.processes, CountOf(given, launcher.name, "--num-accelerators"));
  }
  return launcher;
}

}  // namespace

absl::StatusOr<std::optional<RankLauncher>> ReadRankLauncher(std::span<const std::string> command,
                                                             const Environment& around,
                                                             std::optional<int64_t> world_size) {
  Environment environment = around;
  const size_t prefix = WordsOfPrefix(command, environment);
  const std::span<const std::string> words = command.subspan(prefix);
  if (words.empty()) return std::nullopt;
  const absl::string_view name = BaseName(words[0]);
  const std::string second = words.size() > 1 ? words[1] : "";
  const PythonModule module = ModuleOf(words);
  std::optional<RankLauncher> launcher;
  size_t program = 0;
  size_t accelerate = name == "accelerate" && second == "launch" ? 2 : 0;
  if (name == "accelerate-launch") accelerate = 1;
  if (module.name == "accelerate.commands.launch") accelerate = module.words;
  if (accelerate > 0) {
    AB_ASSIGN_OR_RETURN(Given given, OptionsOf(words, accelerate, kAccelerateOptions, program));
    AB_ASSIGN_OR_RETURN(launcher, Accelerate(std::move(given), environment, world_size));
  } else if (name == "deepspeed" || module.name == "deepspeed.launcher.runner") {
    AB_ASSIGN_OR_RETURN(const Given given, OptionsOf(words, std::max<size_t>(1, module.words),
                                                     kDeepSpeedOptions, program));
    AB_ASSIGN_OR_RETURN(launcher, DeepSpeed(given, world_size));
  }
  if (launcher.has_value()) launcher->program = prefix + program;
  if (launcher.has_value() || program > 0) return launcher;
  for (const auto& [known, word] : kByNameOnly) {
    if (name != known || (!word.empty() && second != word)) continue;
    return RankLauncher{.name = absl::StrCat(known, word.empty() ? "" : " ", word),
                        .uncounted = !world_size.has_value(),
                        .program = command.size()};
  }
  return std::nullopt;
}

}  // namespace autobatch
