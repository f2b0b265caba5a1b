#include "orchestrator/launch/torchrun_command.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/launch/command_prefix.h"
#include "orchestrator/launch/launcher_words.h"

namespace autobatch {
namespace {

// torchrun's options.
constexpr LauncherOption kOptions[] = {{"--nnodes"},
                                       {"--nproc-per-node"},
                                       {"--rdzv-backend"},
                                       {"--rdzv-endpoint"},
                                       {"--rdzv-id"},
                                       {"--rdzv-conf"},
                                       {"--standalone", false},
                                       {"--max-restarts"},
                                       {"--monitor-interval"},
                                       {"--start-method"},
                                       {"--event-log-handler"},
                                       {"--role"},
                                       {"--module", false},
                                       {"--no-python", false},
                                       {"--run-path", false},
                                       {"--log-dir"},
                                       {"--redirects"},
                                       {"--tee"},
                                       {"--local-ranks-filter"},
                                       {"--duplicate-stdout-filters"},
                                       {"--duplicate-stderr-filters"},
                                       {"--node-rank"},
                                       {"--master-addr"},
                                       {"--master-port"},
                                       {"--local-addr"},
                                       {"--logs-specs"},
                                       {"--numa-binding"},
                                       {"--signals-to-handle"},
                                       {"--virtual-local-rank", false},
                                       {"--use-env", false},
                                       {"--help", false},
                                       {"-m", false},
                                       {"-h", false}};

// How many words name torchrun itself; 0: it is another program.
size_t WordsOfTorchrun(std::span<const std::string> command) {
  if (!command.empty() && BaseName(command[0]) == "torchrun") return 1;
  const PythonModule module = ModuleOf(command);
  const bool torchrun =
      module.name == "torch.distributed.run" || module.name == "torch.distributed.launch";
  return torchrun ? module.words : 0;
}

absl::Status Malformed(absl::string_view option, absl::string_view value,
                       absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("torchrun's ", option, " '", absl::CEscape(value), "': expected ", expected));
}

absl::Status ReadNodes(absl::string_view text, TorchrunCommand& torchrun) {
  const std::pair<absl::string_view, absl::string_view> bounds =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  const absl::string_view most = bounds.first.size() == text.size() ? text : bounds.second;
  int32_t low = 0;
  int32_t high = 0;
  if (!absl::SimpleAtoi(bounds.first, &low) || !absl::SimpleAtoi(most, &high) || low < 1 ||
      high < low) {
    return Malformed("--nnodes", text, "a number of nodes, or MIN:MAX");
  }
  torchrun.min_nodes = low;
  torchrun.max_nodes = high;
  return absl::OkStatus();
}

absl::Status ReadProcesses(absl::string_view text, TorchrunCommand& torchrun) {
  int32_t number = 0;
  const bool counted = absl::SimpleAtoi(text, &number) && number > 0;
  if (!counted && text != "gpu" && text != "cpu" && text != "auto" && text != "xpu") {
    return Malformed("--nproc-per-node", text, "a number of processes, gpu, cpu or auto");
  }
  torchrun.processes = std::string(text);
  return absl::OkStatus();
}

std::string Variable(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

absl::Status ReadOption(absl::string_view name, absl::string_view value,
                        TorchrunCommand& torchrun) {
  if (name == "--no-python") torchrun.no_python = true;
  if (name == "--module" || name == "-m") torchrun.module = true;
  if (name == "--nnodes") return ReadNodes(value, torchrun);
  if (name == "--nproc-per-node") return ReadProcesses(value, torchrun);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<TorchrunCommand>> ReadTorchrunCommand(
    std::span<const std::string> command, const Environment& around) {
  Environment environment = around;
  const size_t prefix = WordsOfPrefix(command, environment);
  const size_t words = WordsOfTorchrun(command.subspan(prefix));
  if (words == 0) return std::nullopt;
  TorchrunCommand torchrun;
  if (const std::string nodes = Variable(environment, "PET_NNODES"); !nodes.empty()) {
    AB_RETURN_IF_ERROR(ReadNodes(nodes, torchrun));
  }
  if (const std::string count = Variable(environment, "PET_NPROC_PER_NODE"); !count.empty()) {
    AB_RETURN_IF_ERROR(ReadProcesses(count, torchrun));
  }
  AB_ASSIGN_OR_RETURN(
      torchrun.program,
      ReadLauncherOptions(command, prefix + words, kOptions,
                          [&torchrun](absl::string_view name, absl::string_view value) {
                            return ReadOption(name, value, torchrun);
                          }));
  return torchrun;
}

std::optional<int64_t> ProcessesANode(const TorchrunCommand& torchrun) {
  int64_t processes = 0;
  // "gpu" and the like are as many as there are devices.
  if (!absl::SimpleAtoi(torchrun.processes, &processes)) return std::nullopt;
  return processes;
}

std::optional<int64_t> WorldSizeOf(const TorchrunCommand& torchrun, int64_t devices) {
  if (torchrun.elastic()) return std::nullopt;
  return torchrun.max_nodes * ProcessesANode(torchrun).value_or(devices);
}

std::vector<std::string> PerWorkerForm(std::span<const std::string> command,
                                       const TorchrunCommand& torchrun,
                                       std::span<const std::string> worker_launch) {
  std::vector<std::string> form;
  Environment ignored;
  const size_t prefix = WordsOfPrefix(command, ignored);
  const size_t options = prefix + WordsOfTorchrun(command.subspan(prefix));
  for (size_t at = 0; at < torchrun.program; ++at) {
    const std::string& word = command[at];
    if (at >= options &&
        (word == "--" || (torchrun.module && (word == "-m" || word == "--module")))) {
      continue;
    }
    form.push_back(word);
  }
  if (!torchrun.no_python) form.push_back("--no-python");
  form.insert(form.end(), worker_launch.begin(), worker_launch.end());
  if (!torchrun.no_python) {
    form.push_back("python");
    form.push_back(torchrun.module ? "-m" : "-u");
  }
  form.insert(form.end(), command.begin() + static_cast<std::ptrdiff_t>(torchrun.program),
              command.end());
  return form;
}

}  // namespace autobatch
