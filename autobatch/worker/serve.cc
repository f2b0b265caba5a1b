#include "autobatch/worker/serve.h"

#include <ATen/Context.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/worker/device_memory.h"
#include "autobatch/worker/run_trial.h"
#include "autobatch/worker/trial_failure.h"

namespace autobatch {
namespace {

// What a setup leaves behind for the trials.
struct Setting {
  WorkloadSpec spec;
  std::unique_ptr<DeviceMemory> memory;
  std::unique_ptr<Workload> workload;
};

Failure FailureOf(FailureKind kind, TrialPhase phase, const absl::Status& status) {
  return {.kind = kind, .message = std::string(status.message()), .phase = phase};
}

// Builds the workload on the device. A failure says in which phase.
std::optional<Failure> SetUp(const Request& request, const WorkloadFactory& make_workload,
                             Setting& setting) {
  if (request.protocol != kProtocolVersion || !request.workload.has_value()) {
    return Failure{
        .kind = FailureKind::kProtocol,
        .message = absl::StrCat("a setup of protocol ", request.protocol,
                                request.workload.has_value() ? "" : " without a workload",
                                "; this worker speaks ", kProtocolVersion, "."),
        .phase = TrialPhase::kStart};
  }
  setting.spec = *request.workload;
  absl::StatusOr<std::unique_ptr<DeviceMemory>> memory = MakeDeviceMemory(request.device);
  if (!memory.ok()) {
    if (absl::IsResourceExhausted(memory.status())) {
      Failure full = FailureOf(FailureKind::kOutOfMemory, TrialPhase::kStart, memory.status());
      full.advice = "No batch is small enough: free the device of what else holds its memory.";
      return full;
    }
    Failure failure = FailureOf(FailureKind::kCannotStart, TrialPhase::kStart, memory.status());
    if (absl::IsFailedPrecondition(memory.status())) {
      failure.advice = "Leave that setting out for the trials and for training.";
    }
    return failure;
  }
  setting.memory = *std::move(memory);
  try {
    at::globalContext().setBenchmarkCuDNN(setting.spec.cudnn_benchmark);
    // Repeatable parameters, whatever the trials' seeds are.
    at::manual_seed(0);
    absl::StatusOr<std::unique_ptr<Workload>> workload = make_workload(setting.spec);
    if (!workload.ok()) {
      return FailureOf(FailureKind::kModelError, TrialPhase::kLoad, workload.status());
    }
    setting.workload = *std::move(workload);
    setting.workload->To(setting.memory->device(), setting.spec.channels_last);
    setting.memory->Synchronize();
  } catch (...) {
    return DescribeCaught(*setting.memory, {.phase = TrialPhase::kLoad});
  }
  return std::nullopt;
}

int64_t CountParameters(Workload& workload) {
  int64_t count = 0;
  for (const at::Tensor& parameter : workload.Parameters()) count += parameter.numel();
  return count;
}

absl::Status SendFailure(ProtocolChannel& channel, Failure failure) {
  Observation seen;
  seen.failure = std::move(failure);
  seen.method = "worker";
  return channel.Send({.type = ReplyType::kResult, .result = std::move(seen)});
}

absl::Status AnswerTrial(ProtocolChannel& channel, Setting& setting, const TrialSpec& trial) {
  // A parent that is gone is noticed at the result; until then the trial need not know.
  const TrialEvents events = {
      .entered =
          [&](TrialPhase phase) {
            channel.Send({.type = ReplyType::kPhase, .phase = phase}).IgnoreError();
          },
      .stepped =
          [&](const StepObservation& step) {
            channel.Send({.type = ReplyType::kStep, .step = step}).IgnoreError();
          }};
  Observation seen = RunTrial(*setting.workload, *setting.memory, setting.spec, trial, events);
  return channel.Send({.type = ReplyType::kResult, .result = std::move(seen)});
}

}  // namespace

absl::Status Serve(ProtocolChannel& channel, const WorkloadFactory& make_workload) {
  // Never destroyed, see the header.
  Setting& setting = *new Setting;
  AB_ASSIGN_OR_RETURN(const std::optional<Request> setup, channel.Receive());
  if (!setup.has_value()) return absl::OkStatus();
  if (setup->type != RequestType::kSetup) {
    return absl::InvalidArgumentError("the first request is no setup");
  }
  if (std::optional<Failure> failure = SetUp(*setup, make_workload, setting); failure.has_value()) {
    return SendFailure(channel, *std::move(failure));
  }
  Hello hello = {.pid = getpid(),
                 .device_uuid = setting.memory->uuid(),
                 .parameters = CountParameters(*setting.workload)};
  AB_RETURN_IF_ERROR(channel.Send({.type = ReplyType::kHello, .hello = std::move(hello)}));

  while (true) {
    AB_ASSIGN_OR_RETURN(const std::optional<Request> request, channel.Receive());
    if (!request.has_value()) return absl::OkStatus();
    if (request->type != RequestType::kTrial || !request->trial.has_value()) {
      return absl::InvalidArgumentError("a request that is no trial");
    }
    AB_RETURN_IF_ERROR(AnswerTrial(channel, setting, *request->trial));
  }
}

}  // namespace autobatch
