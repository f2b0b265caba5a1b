#include "orchestrator/launch/command_prefix.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "orchestrator/launch/launcher_words.h"

namespace autobatch {
namespace {

// Of these programs' options, those whose value is the next word.
constexpr std::array<absl::string_view, 6> kWithValue = {"-u",      "--unset", "-C",
                                                         "--chdir", "-n",      "--adjustment"};

bool IsAssignment(absl::string_view word) {
  return !word.empty() && word[0] != '=' && absl::StrContains(word, '=');
}

// Words of one such program; 0: the first word is none.
size_t WordsOfOne(std::span<const std::string> command, Environment& environment) {
  const absl::string_view program = BaseName(command[0]);
  const bool is_env = program == "env";
  if (!is_env && program != "nohup" && program != "setsid" && program != "nice") return 0;
  size_t at = 1;
  for (; at < command.size() && absl::StartsWith(command[at], "-"); ++at) {
    const std::string& option = command[at];
    if (option == "--") {
      ++at;
      break;
    }
    // A whole command in one word.
    if (is_env && (absl::StartsWith(option, "-S") || absl::StartsWith(option, "--split-string"))) {
      return 0;
    }
    if (is_env && (option == "-" || option == "-i" || option == "--ignore-environment")) {
      environment.clear();
    }
    if (std::find(kWithValue.begin(), kWithValue.end(), option) == kWithValue.end()) continue;
    ++at;
    if (at < command.size() && (option == "-u" || option == "--unset")) {
      environment.erase(command[at]);
    }
  }
  for (; is_env && at < command.size() && IsAssignment(command[at]); ++at) {
    const size_t equals = command[at].find('=');
    environment[command[at].substr(0, equals)] = command[at].substr(equals + 1);
  }
  return at;
}

}  // namespace

size_t WordsOfPrefix(std::span<const std::string> command, Environment& environment) {
  size_t words = 0;
  while (words < command.size()) {
    const size_t more = WordsOfOne(command.subspan(words), environment);
    if (more == 0) return words;
    words += more;
  }
  return 0;
}

}  // namespace autobatch
