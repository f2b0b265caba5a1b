#include "tools/training.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/files.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/report/text.h"
#include "orchestrator/core/exit_codes.h"
#include "orchestrator/launch/worker_values.h"

namespace autobatch {

int Complain(const absl::Status& status, int exit_code) {
  const std::string hint = exit_code == kExitUsage ? "\nlaunch --help says what there is." : "";
  // It quotes arguments and variables; they are not to command the terminal.
  std::vector<std::string> lines = absl::StrSplit(status.message(), '\n');
  for (std::string& line : lines) line = EscapeControls(line);
  Shout(absl::StrCat("launch: ", absl::StrJoin(lines, "\n"), hint, "\n"));
  return exit_code;
}

int Complain(const absl::Status& status) { return Complain(status, LaunchExitCode(status)); }

void Shout(absl::string_view text) { WriteAll(STDERR_FILENO, text, "stderr").IgnoreError(); }

int WriteOutput(const LaunchLine& line, LaunchOutput output) {
  output.variables.insert(output.variables.end(), line.exports.begin(), line.exports.end());
  const auto print = [&]() -> absl::Status {
    AB_ASSIGN_OR_RETURN(const std::string text, Formatted(*line.format, output));
    return WriteAll(STDOUT_FILENO, text, "stdout");
  };
  const absl::Status written = line.publish.empty() ? print() : Publish(line.publish, output);
  return written.ok() ? kExitOk : Complain(written, kExitInternal);
}

ChildCommand CommandWith(const std::vector<std::string>& command, const TrainingValues& values) {
  ChildCommand child{.command = FillTraining(command, values),
                     .working_directory = ResolveUserPath(".")};
  for (const WorkerVariable& variable : values.variables) {
    child.environment.emplace_back(variable.name, variable.value);
  }
  return child;
}

absl::Status Training::Start(const ChildCommand& command) {
  AB_ASSIGN_OR_RETURN(child_, SupervisedChild::Start(command));
  signals_.SetHandler([this](int signal) { child_->Forward(signal); });
  return absl::OkStatus();
}

int Training::Wait() {
  const int exit_code = child_->Wait();
  signals_.SetHandler(nullptr);
  const std::vector<std::string> left = child_->EndLeft(grace_);
  if (!left.empty()) {
    Shout(absl::StrCat("launch: the command left processes behind, which were ended: ",
                       EscapeControls(absl::StrJoin(left, ", ")), "\n"));
  }
  return exit_code;
}

int RunCommand(const ChildCommand& command, absl::Duration grace, SignalRelay& signals) {
  Training training(grace, signals);
  const absl::Status started = training.Start(command);
  return started.ok() ? training.Wait() : Complain(started, kExitCannotRun);
}

}  // namespace autobatch
