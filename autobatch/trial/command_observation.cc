#include "autobatch/trial/command_observation.h"

#include "autobatch/trial/classify.h"
#include "autobatch/types/command_template.h"

namespace autobatch {
namespace {

// Of the work, where the number of steps is not known.
constexpr double kUsualBefore = 0.875;

MemoryPeak PeakOf(const CommandMemory& memory) {
  // Seen from outside, what is held and what is used are one.
  return {.reserved_bytes = memory.peak_bytes(), .allocated_bytes = memory.peak_bytes()};
}

}  // namespace

Observation SelfMeasured(const TrialSpec& asked, const Observation& told,
                         const CommandMemory& memory) {
  Observation seen = told;
  if (seen.ok()) seen.failure = CheckResult(asked, seen);
  if (seen.ok() && seen.PeakReserved() == 0 && memory.unallocated()) {
    seen.failure = Failure{.kind = FailureKind::kModelError,
                           .message = "its steps took no memory of the GPU: they ran elsewhere",
                           .advice =
                               "See that the script moves its model and its inputs to the "
                               "device ({device}, or \"cuda\").",
                           .phase = TrialPhase::kEnd};
  }
  if (seen.method.empty()) seen.method = "protocol";
  if (!seen.budget_bytes.has_value()) seen.budget_bytes = memory.limit();
  if (seen.PeakReserved() == 0) seen.steady = PeakOf(memory);
  seen.host_peak_bytes = memory.host_peak_bytes();
  return seen;
}

Observation Watched(const CommandMemory& memory, const std::vector<StepObservation>& steps,
                    const std::optional<Hello>& hello, const std::optional<Failure>& failure) {
  Observation seen;
  seen.failure = failure;
  seen.method = memory.observed() ? kObserverMethod : kDriverMethod;
  seen.steps = steps;
  if (!seen.steps.empty()) seen.first_step = seen.steps.front().peak;
  if (memory.peak_bytes() > 0) seen.steady = PeakOf(memory);
  seen.budget_bytes = memory.limit();
  seen.total_bytes = memory.total_bytes();
  seen.free_before_bytes = memory.free_before_bytes();
  if (seen.free_before_bytes.has_value()) {
    // The peak holds the context and everything else of the command.
    seen.free_after_bytes = *seen.free_before_bytes - memory.peak_bytes();
  }
  seen.host_peak_bytes = memory.host_peak_bytes();
  if (hello.has_value()) seen.parameters = hello->parameters;
  seen.unsettled = seen.ok() && memory.StillGrew();
  if (seen.ok()) seen.retries = memory.refusals();
  if (memory.observed()) {
    seen.context_bytes = memory.context_bytes();
    if (seen.ok() && !seen.context_bytes.has_value()) {
      seen.warnings.push_back(
          "the driver's own memory for the command (its context) was not seen before it ended, "
          "and is missing in the peak");
    }
  }
  return seen;
}

void JudgeGrowth(const ObserverFile* observer, size_t index, const TrialSpec& trial,
                 std::span<const std::string> command, Observation& device) {
  if (observer != nullptr && device.ok() && device.method == kObserverMethod) {
    // One that does not take the number of steps may do more of them.
    const bool counted = trial.steps >= 2 && UsesPlaceholder(command, "steps");
    const double before_last = counted ? 1 - 1 / static_cast<double>(trial.steps) : kUsualBefore;
    device.unsettled = observer->GrewAfter(index, before_last).value_or(device.unsettled);
  }
}

}  // namespace autobatch
