#ifndef AUTOBATCH_TRIAL_SCRIPTED_TRIAL_RUNNER_H_
#define AUTOBATCH_TRIAL_SCRIPTED_TRIAL_RUNNER_H_

#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "autobatch/base/clock.h"
#include "autobatch/trial/trial_runner.h"
#include "autobatch/types/observation.h"

namespace autobatch {

// A fake: a function is the device. No process, no time.
//
//   ScriptedTrialRunner runner([](const TrialSpec& trial) {
//     Observation seen;
//     if (trial.batch > 16) seen.failure = Failure{.kind = FailureKind::kOutOfMemory};
//     return seen;
//   });
// The observation's `trial` is filled in; its steps are told as progress. The function may call
// Cancel(), as a user would in the middle of a trial.
class ScriptedTrialRunner final : public TrialRunner {
 public:
  using Script = std::function<absl::StatusOr<Observation>(const TrialSpec&)>;

  explicit ScriptedTrialRunner(Script script) : script_(std::move(script)) {}

  absl::StatusOr<Observation> Run(const TrialSpec& trial, SteadyTime deadline,
                                  const ProgressFunction& progress) override {
    if (cancelled_) return Cancelled(trial);
    trials_.push_back(trial);
    absl::StatusOr<Observation> seen = script_(trial);
    if (!seen.ok()) return seen;
    if (cancelled_) return Cancelled(trial);
    seen->trial = trial;
    for (const StepObservation& step : seen->steps) {
      if (progress) progress(Reply{.type = ReplyType::kStep, .step = step});
    }
    return seen;
  }

  void Cancel() override { cancelled_ = true; }

  // Every trial that was run, in order.
  const std::vector<TrialSpec>& trials() const { return trials_; }

 private:
  static Observation Cancelled(const TrialSpec& trial) {
    Observation seen;
    seen.trial = trial;
    seen.failure = Failure{.kind = FailureKind::kCancelled, .message = "cancelled"};
    return seen;
  }

  Script script_;
  std::vector<TrialSpec> trials_;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_SCRIPTED_TRIAL_RUNNER_H_
