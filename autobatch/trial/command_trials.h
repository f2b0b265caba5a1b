#ifndef AUTOBATCH_TRIAL_COMMAND_TRIALS_H_
#define AUTOBATCH_TRIAL_COMMAND_TRIALS_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "autobatch/base/clock.h"
#include "autobatch/trial/cancel_signal.h"
#include "autobatch/trial/child_process.h"
#include "autobatch/trial/command_environment.h"
#include "autobatch/trial/command_trial_options.h"
#include "autobatch/trial/host_state.h"
#include "autobatch/trial/left_files.h"
#include "autobatch/trial/node_trial_runner.h"
#include "autobatch/trial/seen_framework.h"
#include "autobatch/trial/trial_runner.h"
#include "autobatch/types/observation.h"

namespace autobatch {

// Trials of a command on its devices, however many: what NewCommandTrialRunner and
// NewNodeTrialRunner (command_trial_runner.h) give.
class CommandTrials {
 public:
  explicit CommandTrials(CommandTrialOptions options);

  absl::StatusOr<NodeObservation> Run(std::span<const TrialSpec> specs, SteadyTime deadline,
                                      const ProgressFunction& progress);
  void Cancel() { cancel_.Set(); }

 private:
  // Everything of one running trial.
  struct Trial;

  absl::StatusOr<NodeObservation> RunOnce(std::span<const TrialSpec> specs, SteadyTime start,
                                          SteadyTime deadline, const ProgressFunction& progress);
  // Puts the observer before what else is preloaded.
  absl::Status Preload(Trial& trial, CommandEnvironment& environment) const;
  absl::Status Start(Trial& trial, const CommandEnvironment& environment,
                     const std::string& output_dir);
  // Until there is a result, or the command has ended or must be ended.
  void Listen(Trial& trial);
  int64_t Allowance(Trial& trial);
  NodeObservation Finish(Trial& trial, const std::vector<std::string>& warnings,
                         const HostState& host_before);
  // A command that has its result may have things of its own to end. False: it goes on.
  bool WaitForExit(ChildProcess& child);
  // What each device has seen, and whether all of them together ran.
  NodeObservation Observe(const Trial& trial) const;
  void AddCommonWarnings(const Trial& trial, const std::vector<std::string>& warnings,
                         Observation& seen) const;

  const CommandTrialOptions options_;
  const bool on_cpu_;
  CancelSignal cancel_;
  LeftFiles left_files_;
  // What the driver has held of each device for the command besides its allocations, at most.
  std::vector<std::optional<int64_t>> contexts_;
  // Absent: not known yet.
  std::optional<bool> speaks_;
  FrameworkWatch framework_;
  // This PyTorch is older than the setting.
  bool fraction_refused_ = false;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_COMMAND_TRIALS_H_
