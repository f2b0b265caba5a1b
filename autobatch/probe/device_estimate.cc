#include "autobatch/probe/device_estimate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/probe/auto_batch.h"

namespace autobatch {
namespace {

// A runner that belongs to somebody else, who can cancel it.
class BorrowedRunner final : public TrialRunner {
 public:
  explicit BorrowedRunner(TrialRunner& runner) : runner_(runner) {}
  absl::StatusOr<Observation> Run(const TrialSpec& trial, SteadyTime deadline,
                                  const ProgressFunction& progress) override {
    return runner_.Run(trial, deadline, progress);
  }
  void Cancel() override { runner_.Cancel(); }

 private:
  TrialRunner& runner_;
};

// Why an estimator has no answer: what ended the profile from outside, else its last failing trial.
Failure WhyNot(const AutoBatchAnswer& answer, const std::optional<Failure>& stopped) {
  if (stopped.has_value()) return *stopped;
  Failure failure{.kind = FailureKind::kModelError};
  for (const Observation& seen : answer.observations) {
    if (seen.failure.has_value()) failure = *seen.failure;
  }
  if (absl::IsDeadlineExceeded(answer.batch.status())) failure.kind = FailureKind::kTimeout;
  failure.message = absl::StrCat("the estimator has no answer: ", answer.batch.status().message(),
                                 failure.message.empty() ? "" : "; last: ", failure.message);
  failure.advice = "--strategy confirm searches with trials of growing size";
  return failure;
}

int64_t SamplesStepped(const std::vector<Observation>& observations) {
  int64_t samples = 0;
  for (const Observation& seen : observations) {
    samples += seen.trial.batch * static_cast<int64_t>(seen.steps.size());
  }
  return samples;
}

}  // namespace

absl::StatusOr<DeviceResult> EstimateDevice(const ProbeSpec& spec, const Device& device,
                                            int64_t devices, const DeviceProbeParts& parts) {
  const SteadyTime start = parts.clock.Now();
  const WorkloadSpec workload = WorkloadFor(spec, device);
  AutoBatchModel model{.workload = workload,
                       .device = DeviceAsAccelerator(device),
                       .clock = parts.clock,
                       .deadline = Add(start, TimeLimitFor(spec, device)),
                       .trial_timeout = spec.trial_timeout,
                       .cudnn_benchmark = workload.cudnn_benchmark,
                       .on_trial = parts.on_trial};
  model.make_runner = [&parts](const WorkloadSpec&) {
    return std::make_unique<BorrowedRunner>(parts.runner);
  };
  AutoBatchAnswer answer =
      AutoBatch(model, {.estimator = spec.strategy,
                        .imgsz = workload.image_size,
                        .fraction = spec.fraction,
                        .max_num_obj = std::max<int64_t>(workload.max_objects, 1),
                        .dataset_size = spec.dataset_size.value_or(0)});

  DeviceResult result{.device = device, .strategy = spec.strategy};
  if (answer.batch.ok() && spec.confirm_estimate) {
    ProbeSpec confirm = spec;
    confirm.max_batch = std::min(*answer.batch, spec.max_batch);
    AB_ASSIGN_OR_RETURN(result, ProbeDevice(confirm, device, devices,
                                            FirstGuess{.batch = confirm.max_batch}, parts));
    result.strategy = spec.strategy;
    if (result.confirmed_batch.has_value() && *result.confirmed_batch < *answer.batch) {
      result.warnings.push_back(absl::StrCat("the estimate of ", *answer.batch, " did not run; ",
                                             *result.confirmed_batch, " did"));
    }
  } else if (answer.batch.ok()) {
    result.status = ResultStatus::kEstimated;
    result.warnings.push_back("an estimate that nothing has run: --confirm runs it");
  } else {
    result.failure = WhyNot(answer, parts.stopped());
  }
  if (answer.batch.ok()) result.estimated_batch = *answer.batch;
  for (const LogLine& line : answer.log) result.log.push_back(line.text);
  result.samples_stepped += SamplesStepped(answer.observations);
  result.observations.insert(result.observations.begin(), answer.observations.begin(),
                             answer.observations.end());
  result.elapsed_ms = absl::ToDoubleMilliseconds(Between(start, parts.clock.Now()));
  return result;
}

}  // namespace autobatch
