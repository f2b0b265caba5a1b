#ifndef AUTOBATCH_TRIAL_COMMAND_TRIAL_RUNNER_H_
#define AUTOBATCH_TRIAL_COMMAND_TRIAL_RUNNER_H_

#include <memory>

#include "autobatch/trial/command_trial_options.h"
#include "autobatch/trial/node_trial_runner.h"
#include "autobatch/trial/trial_runner.h"

namespace autobatch {

// Runs the trials of a user's own command, each in a process of its own, in a folder-to-write of
// its own that is removed afterwards, with the loggers of experiments offline.
//
// A command that speaks the trial protocol (types/protocol.h) measures itself. Any other is watched
// from outside: how it ended, and the greatest memory of its process tree. On a GPU the observer
// counts its allocations and keeps it to the budget (kObserverMethod), as PyTorch's own limit does;
// what refuses the preload leaves the driver's view (kDriverMethod). On the CPU what is seen above
// the budget is ended.
// What is worth knowing of a good trial is in Observation::warnings.
//
// `options.devices` has one.
std::unique_ptr<TrialRunner> NewCommandTrialRunner(CommandTrialOptions options);

// The same on all of `options.devices` at once. Each rank is observed on its device, and the budget
// kept on each. A device on which nothing ran fails the trial; as many ranks as there are devices
// are expected, and another number is told.
std::unique_ptr<NodeTrialRunner> NewNodeTrialRunner(CommandTrialOptions options);

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_COMMAND_TRIAL_RUNNER_H_
