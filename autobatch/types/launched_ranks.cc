#include "autobatch/types/launched_ranks.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace autobatch {
namespace {

struct Launcher {
  std::vector<std::string> names;
  // The options that say how many, each once; their numbers are multiplied. Spelt with dashes.
  std::vector<std::vector<std::string>> options;
};

const std::vector<Launcher>& Launchers() {
  static const auto& launchers = *new std::vector<Launcher>{
      {{"torchrun", "torch.distributed.run", "torch.distributed.launch"},
       {{"--nproc-per-node"}, {"--nnodes"}}},
      {{"accelerate"}, {{"--num-processes", "-n"}}},
      {{"deepspeed"}, {{"--num-gpus"}, {"--num-nodes"}}},
      {{"mpirun", "mpiexec", "orterun"}, {{"-np", "-n", "--np", "-c"}}},
      {{"horovodrun"}, {{"-np", "--num-proc"}}},
      {{"srun"}, {{"-n", "--ntasks"}}},
  };
  return launchers;
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

const Launcher* Find(const std::string& argument) {
  for (const Launcher& launcher : Launchers()) {
    const std::vector<std::string>& names = launcher.names;
    if (std::find(names.begin(), names.end(), BaseName(argument)) != names.end()) return &launcher;
  }
  return nullptr;
}

// "--nproc_per_node" is the same option.
std::string Dashed(absl::string_view name) { return absl::StrReplaceAll(name, {{"_", "-"}}); }

// The number that the first of these options has among the launcher's own arguments, with its
// words.
std::optional<LaunchedRanks> NumberOf(const std::vector<std::string>& names,
                                      std::span<const std::string> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (absl::EndsWith(argument, ".py")) break;  // What follows is the script's.
    const size_t equals = argument.find('=');
    const std::string name = Dashed(absl::string_view(argument).substr(0, equals));
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    const bool apart = equals == std::string::npos;
    if (apart && i + 1 == arguments.size()) return std::nullopt;
    const std::string value = apart ? arguments[i + 1] : argument.substr(equals + 1);
    LaunchedRanks found;
    if (!absl::SimpleAtoi(value, &found.ranks) || found.ranks < 1) return std::nullopt;
    found.words = apart ? absl::StrCat(argument, " ", value) : argument;
    return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<LaunchedRanks> FindLaunchedRanks(std::span<const std::string> command) {
  for (size_t i = 0; i < command.size(); ++i) {
    const Launcher* launcher = Find(command[i]);
    if (launcher == nullptr) continue;
    LaunchedRanks all{.words = BaseName(command[i])};
    for (size_t option = 0; option < launcher->options.size(); ++option) {
      const std::optional<LaunchedRanks> found =
          NumberOf(launcher->options[option], command.subspan(i + 1));
      // Without the first there is no number; the nodes are one unless said.
      if (!found.has_value() && option == 0) return std::nullopt;
      if (!found.has_value()) continue;
      if (__builtin_mul_overflow(all.ranks, found->ranks, &all.ranks)) return std::nullopt;
      absl::StrAppend(&all.words, " ", found->words);
    }
    return all;
  }
  return std::nullopt;
}

}  // namespace autobatch
