#include "autobatch/trial/command_trial_runner.h"

#include <utility>

#include "autobatch/base/status_macros.h"
#include "autobatch/trial/command_trials.h"

namespace autobatch {
namespace {

class CommandTrialRunner final : public TrialRunner {
 public:
  explicit CommandTrialRunner(CommandTrialOptions options) : trials_(std::move(options)) {}

  absl::StatusOr<Observation> Run(const TrialSpec& spec, SteadyTime deadline,
                                  const ProgressFunction& progress) override {
    AB_ASSIGN_OR_RETURN(NodeObservation seen, trials_.Run({&spec, 1}, deadline, progress));
    return std::move(seen.devices.front());
  }
  void Cancel() override { trials_.Cancel(); }

 private:
  CommandTrials trials_;
};

class CommandNodeTrialRunner final : public NodeTrialRunner {
 public:
  explicit CommandNodeTrialRunner(CommandTrialOptions options) : trials_(std::move(options)) {}

  absl::StatusOr<NodeObservation> Run(std::span<const TrialSpec> specs, SteadyTime deadline,
                                      const ProgressFunction& progress) override {
    return trials_.Run(specs, deadline, progress);
  }
  void Cancel() override { trials_.Cancel(); }

 private:
  CommandTrials trials_;
};

}  // namespace

std::unique_ptr<TrialRunner> NewCommandTrialRunner(CommandTrialOptions options) {
  return std::make_unique<CommandTrialRunner>(std::move(options));
}

std::unique_ptr<NodeTrialRunner> NewNodeTrialRunner(CommandTrialOptions options) {
  return std::make_unique<CommandNodeTrialRunner>(std::move(options));
}

}  // namespace autobatch
