#include "autobatch/worker/run_trial.h"

#include <ATen/Context.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/base/units.h"
#include "autobatch/types/settling.h"
#include "autobatch/worker/training_step.h"
#include "autobatch/worker/trial_failure.h"

namespace autobatch {
namespace {

int64_t HostPeakBytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

MemoryPeak Greater(const MemoryPeak& a, const MemoryPeak& b) {
  MemoryPeak greater = {.reserved_bytes = std::max(a.reserved_bytes, b.reserved_bytes),
                        .allocated_bytes = std::max(a.allocated_bytes, b.allocated_bytes)};
  if (a.requested_bytes.has_value() && b.requested_bytes.has_value()) {
    greater.requested_bytes = std::max(*a.requested_bytes, *b.requested_bytes);
  }
  return greater;
}

// Over the steps after the first, or that one when there is no other.
double Median(const std::vector<StepObservation>& steps, double StepObservation::* field) {
  std::vector<double> values;
  for (std::size_t i = steps.size() > 1 ? 1 : 0; i < steps.size(); ++i) {
    values.push_back(steps[i].*field);
  }
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

class Trial {
 public:
  Trial(Workload& workload, DeviceMemory& memory, const WorkloadSpec& spec, const TrialSpec& trial,
        const TrialEvents& events)
      : workload_(workload), memory_(memory), spec_(spec), trial_(trial), events_(events) {
    seen_.trial = trial;
    seen_.method = "worker";
  }

  Observation Run() {
    const auto start = std::chrono::steady_clock::now();
    try {
      if (Prepare()) Steps();
      if (seen_.ok() && trial_.evaluation_batch > 0) {
        seen_.evaluation = step_->Evaluate(trial_.evaluation_batch);
      }
      Enter(TrialPhase::kEnd);
      Close();
    } catch (...) {
      seen_.failure = DescribeCaught(memory_, place_);
    }
    AskDevice();
    // Only here, the handler left, is the memory of the failed step given back.
    Release();
    Summarize();
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    seen_.trial_ms = elapsed.count();
    seen_.host_peak_bytes = HostPeakBytes();
    return std::move(seen_);
  }

 private:
  void Enter(TrialPhase phase) {
    place_.phase = phase;
    events_.entered(phase);
  }

  void Fail(FailureKind kind, std::string message, std::string advice = "") {
    seen_.failure = Failure{.kind = kind,
                            .message = std::move(message),
                            .advice = std::move(advice),
                            .phase = place_.phase};
    if (place_.step > 0) seen_.failure->step = place_.step;
  }

  // A clean device under its limit. False when there is no room at all.
  bool Prepare() {
    Enter(TrialPhase::kStart);
    if (trial_.batch < 1 || trial_.steps < 1 || trial_.accumulation < 1) {
      Fail(FailureKind::kProtocol,
           absl::StrCat("a trial of batch ", trial_.batch, ", ", trial_.steps,
                        " steps and accumulation ", trial_.accumulation, " makes no sense."));
      return false;
    }
    memory_.SetLimit(std::nullopt);
    memory_.ReleaseCache();
    memory_.ResetPeaks();
    memory_.ClearRefusal();
    at::manual_seed(static_cast<uint64_t>(trial_.seed));

    const DeviceMemory::View view = memory_.Query();
    seen_.total_bytes = view.total_bytes;
    seen_.budget_bytes = trial_.limit_bytes;
    if (view.free_bytes.has_value()) {
      // The model is there already, and it is the workload's own.
      seen_.free_before_bytes = *view.free_bytes + memory_.HeldBytes();
      const int64_t room = *seen_.free_before_bytes - trial_.reserve_bytes;
      seen_.budget_bytes = std::min(trial_.limit_bytes.value_or(room), room);
    }
    place_.budget_bytes = seen_.budget_bytes;
    if (trial_.limit_bytes.has_value() && *trial_.limit_bytes <= 0) {
      Fail(FailureKind::kOutOfMemory,
           absl::StrCat("no memory is left for training: the memory limit is no more than the "
                        "margins of ",
                        FormatBytes(trial_.reserve_bytes)),
           "Raise the memory limit, or ask for smaller margins.");
      return false;
    }
    if (seen_.budget_bytes.has_value() && *seen_.budget_bytes <= 0) {
      Fail(
          FailureKind::kOutOfMemory,
          absl::StrCat("no memory is left for training: ", FormatBytes(view.free_bytes.value_or(0)),
                       " free of ", FormatBytes(view.total_bytes.value_or(0)), ", less margins of ",
                       FormatBytes(trial_.reserve_bytes)),
          "End what else uses the device, or ask for smaller margins.");
      return false;
    }
    memory_.SetLimit(seen_.budget_bytes);
    return true;
  }

  void Steps() {
    step_ = std::make_unique<TrainingStep>(workload_, memory_,
                                           StepSettings{.precision = spec_.precision,
                                                        .optimizer = spec_.optimizer,
                                                        .zero_grad = spec_.zero_grad,
                                                        .ema = spec_.ema,
                                                        .gradient_buckets = trial_.gradient_buckets,
                                                        .accumulation = trial_.accumulation},
                                           [this](TrialPhase phase) { Enter(phase); });
    while (seen_.ok() && GoesOn(trial_, seen_.steps)) {
      ++place_.step;
      seen_.steps.push_back(step_->Run(trial_.batch));
      events_.stepped(seen_.steps.back());
      Judge(seen_.steps.back());
    }
    if (seen_.ok()) place_.step = 0;
  }

  // What a step can get wrong without throwing.
  void Judge(const StepObservation& step) {
    if (step_->facts()->batch_seen != trial_.batch) {
      Fail(FailureKind::kBatchIgnored,
           absl::StrCat("the model was given ", trial_.batch, " samples and answered for ",
                        step_->facts()->batch_seen, "."),
           "The model must process every sample that it is given.");
    } else if (!std::isfinite(*step.loss)) {
      Fail(FailureKind::kNonFiniteLoss,
           absl::StrCat("the loss was ", std::isnan(*step.loss) ? "not a number" : "infinite",
                        " in step ", place_.step, "."),
           "The data are random noise of the declared shapes; check the loss, the target's range "
           "and "
           "the precision.");
    }
  }

  // The device's side, while all that the trial holds is still held.
  void Close() {
    seen_.free_after_bytes = memory_.Query().free_bytes;
    seen_.context_bytes = memory_.ContextBytes();
  }

  // A library in a context that is lost fails in words of its own ("CUDNN_STATUS_INTERNAL_ERROR"):
  // the device tells what came before.
  void AskDevice() {
    if (seen_.ok() || seen_.failure->kind == FailureKind::kIllegalAccess) return;
    try {
      memory_.Synchronize();
    } catch (...) {
      Failure cause = DescribeCaught(memory_, place_);
      if (cause.kind != FailureKind::kIllegalAccess) return;
      absl::StrAppend(&cause.message, "; what it came up as: ", seen_.failure->message);
      seen_.failure = std::move(cause);
    }
  }

  void Release() {
    if (step_ != nullptr && step_->facts().has_value()) {
      const PassFacts& facts = *step_->facts();
      seen_.batch_seen = facts.batch_seen;
      seen_.forward_flops = facts.flops;
      seen_.input_shapes = facts.input_shapes;
      seen_.output_shapes = facts.output_shapes;
    }
    if (!seen_.ok() && seen_.failure->kind == FailureKind::kIllegalAccess) {
      // Freeing its tensors would ask the lost device again, and throw in a destructor.
      static_cast<void>(step_.release());
      return;
    }
    int64_t parameters = 0;
    for (const at::Tensor& parameter : workload_.Parameters()) parameters += parameter.numel();
    seen_.parameters = parameters;
    step_.reset();
    try {
      memory_.SetLimit(std::nullopt);
      memory_.ReleaseCache();
    } catch (const std::exception&) {
      if (seen_.ok()) seen_.failure = DescribeCaught(memory_, place_);
    }
  }

  void Summarize() {
    const std::vector<StepObservation>& steps = seen_.steps;
    if (steps.empty()) return;
    seen_.first_step = steps.front().peak;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      seen_.retries += steps[i].retries;
      if (i == 0) continue;
      seen_.steady =
          seen_.steady.has_value() ? Greater(*seen_.steady, steps[i].peak) : steps[i].peak;
    }
    const Settling settling = SettlingOf(steps);
    seen_.late_retries = settling.late_retries;
    seen_.unsettled = settling.still_grows;
    seen_.forward_ms = Median(steps, &StepObservation::forward_ms);
    seen_.backward_ms = Median(steps, &StepObservation::backward_ms);
    seen_.step_ms = Median(steps, &StepObservation::step_ms);
  }

  Workload& workload_;
  DeviceMemory& memory_;
  const WorkloadSpec& spec_;
  const TrialSpec& trial_;
  const TrialEvents& events_;

  Observation seen_;
  TrialPlace place_;
  std::unique_ptr<TrainingStep> step_;
};

}  // namespace

Observation RunTrial(Workload& workload, DeviceMemory& memory, const WorkloadSpec& spec,
                     const TrialSpec& trial, const TrialEvents& events) {
  return Trial(workload, memory, spec, trial, events).Run();
}

}  // namespace autobatch
