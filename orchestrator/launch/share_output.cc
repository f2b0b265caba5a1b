#include "orchestrator/launch/share_output.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autobatch/report/env_lines.h"

namespace autobatch {

absl::StatusOr<std::string> TaskPrologLines(std::span<const WorkerVariable> variables) {
  std::string lines;
  for (const WorkerVariable& variable : variables) {
    if (absl::StrContains(variable.value, "\n") || absl::StrContains(variable.value, "\r")) {
      return absl::InvalidArgumentError(
          absl::StrCat(variable.name, " holds a line end, which a TaskProlog cannot export"));
    }
    absl::StrAppend(&lines, "export ", variable.name, "=", variable.value, "\n");
  }
  return lines;
}

std::string ShellLines(std::span<const WorkerVariable> variables) {
  std::string lines;
  for (const WorkerVariable& variable : variables) {
    absl::StrAppend(&lines, "export ", variable.name, "=", ShellQuote(variable.value), "\n");
  }
  return lines;
}

}  // namespace autobatch
