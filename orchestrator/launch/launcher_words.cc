#include "orchestrator/launch/launcher_words.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

// Python's options that are one letter and have no value.
constexpr absl::string_view kPythonSwitches = "bBdEiIOPqsSuvx";

// What is written as `text`, before any '='.
LauncherOption OptionNamed(absl::string_view text, std::span<const LauncherOption> known) {
  std::string name(text);
  std::replace(name.begin() + (absl::StartsWith(name, "--") ? 2 : 0), name.end(), '_', '-');
  const LauncherOption* found = nullptr;
  for (const LauncherOption& option : known) {
    if (option.name == name) return option;
    if (!absl::StartsWith(name, "--") || !absl::StartsWith(option.name, name)) continue;
    if (found != nullptr) return {.name = text};
    found = &option;
  }
  return found == nullptr ? LauncherOption{.name = text} : *found;
}

}  // namespace

PythonModule ModuleOf(std::span<const std::string> command) {
  if (command.empty() || !absl::StartsWith(BaseName(command[0]), "python")) return {};
  for (size_t at = 1; at < command.size() && absl::StartsWith(command[at], "-"); ++at) {
    const absl::string_view word = command[at];
    // Letters may share a word, the last of them with its value: -um torch.distributed.run
    const size_t letter = word.find_first_not_of(kPythonSwitches, 1);
    if (letter == absl::string_view::npos) continue;
    if (!absl::StrContains("mWX", word.substr(letter, 1))) return {};
    absl::string_view value = word.substr(letter + 1);
    if (value.empty() && ++at < command.size()) value = command[at];
    if (word[letter] == 'm') return {.name = std::string(value), .words = at + 1};
  }
  return {};
}

absl::StatusOr<size_t> ReadLauncherOptions(
    std::span<const std::string> command, size_t at, std::span<const LauncherOption> known,
    const std::function<absl::Status(absl::string_view name, absl::string_view value)>& take) {
  for (; at < command.size() && absl::StartsWith(command[at], "-") && command[at] != "--"; ++at) {
    const absl::string_view word = command[at];
    // -t3, a letter and its value in one word; --tee=3, --tee 3.
    const bool letter = !absl::StartsWith(word, "--");
    const size_t end = letter ? 2 : std::min(word.find('='), word.size());
    const LauncherOption option = OptionNamed(word.substr(0, end), known);
    std::string value(word.substr(std::min(letter ? end : end + 1, word.size())));
    if (option.takes_value && end >= word.size() && at + 1 < command.size()) value = command[++at];
    AB_RETURN_IF_ERROR(take(option.name, value));
  }
  if (at < command.size() && command[at] == "--") ++at;
  return std::min(at, command.size());
}

}  // namespace autobatch
