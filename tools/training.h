#ifndef TOOLS_TRAINING_H_
#define TOOLS_TRAINING_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "orchestrator/launch/launch_line.h"
#include "orchestrator/launch/share_output.h"
#include "orchestrator/launch/signal_relay.h"
#include "orchestrator/launch/supervised_child.h"
#include "orchestrator/launch/training_values.h"

namespace autobatch {

// Says why launch starts nothing, on stderr; returns the exit code.
int Complain(const absl::Status& status, int exit_code);
int Complain(const absl::Status& status);

// As it is, on stderr.
void Shout(absl::string_view text);

// Instead of a command: the values as `line` asks for them, to stdout or a folder; the exit code.
int WriteOutput(const LaunchLine& line, LaunchOutput output);

// The training command with its placeholders filled and its variables set.
ChildCommand CommandWith(const std::vector<std::string>& command, const TrainingValues& values);

// The command, with this process's signals, until it and what it leaves behind have ended.
class Training {
 public:
  // `signals` outlives it.
  Training(absl::Duration grace, SignalRelay& signals) : grace_(grace), signals_(signals) {}

  // Errors of SupervisedChild::Start.
  absl::Status Start(const ChildCommand& command);

  // Its exit code.
  int Wait();

  // SIGTERM, and after the grace SIGKILL; from any thread.
  void End() { child_->End(grace_); }

 private:
  const absl::Duration grace_;
  SignalRelay& signals_;
  std::unique_ptr<SupervisedChild> child_;
};

// Starts the command and waits for it: its exit code, or ours with a complaint.
int RunCommand(const ChildCommand& command, absl::Duration grace, SignalRelay& signals);

}  // namespace autobatch

#endif  // TOOLS_TRAINING_H_
