#include "orchestrator/launch/share_output.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/report/env_lines.h"
#include "autobatch/types/json.h"

namespace autobatch {

LaunchOutput OutputOf(const WorkerReply& reply) {
  const WorkerShare& share = *reply.share;
  return {.run_id = share.run_id,
          .round = share.round,
          .digest = share.digest,
          .record_path = share.record_path,
          .fallback = share.fallback,
          .simulated = share.simulated,
          .share = share,
          .variables = reply.variables};
}

LaunchOutput OutputOf(const Record& record, const std::string& record_path,
                      const TrainingValues& values) {
  return {.run_id = record.run_id,
          .round = record.round,
          .digest = record.digest,
          .record_path = record_path,
          .fallback = record.fallback,
          .simulated = record.simulated,
          .variables = values.variables};
}

absl::StatusOr<std::string> Formatted(LaunchFormat format, const LaunchOutput& output) {
  switch (format) {
    case LaunchFormat::kJson:
      return ToPrettyJson(output);
    case LaunchFormat::kEnv:
      return ShellLines(output.variables);
    case LaunchFormat::kSlurmTaskProlog:
      return TaskPrologLines(output.variables);
  }
  return absl::InternalError("unknown format");
}

absl::Status Publish(const std::string& folder, LaunchOutput output) {
  AB_ASSIGN_OR_RETURN(const std::string record, ReadFile(output.record_path));
  output.record_path = folder + "/record.json";
  for (WorkerVariable& variable : output.variables) {
    if (variable.name == "AUTOBATCH_RECORD") variable.value = output.record_path;
  }
  AB_RETURN_IF_ERROR(WriteFileAtomically(output.record_path, record));
  AB_RETURN_IF_ERROR(WriteFileAtomically(folder + "/launch.env", ShellLines(output.variables)));
  return WriteFileAtomically(folder + "/launch.json", ToPrettyJson(output));
}

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
