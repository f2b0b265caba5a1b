#include "autobatch/trial/worker_trial_runner.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/trial/cancel_signal.h"
#include "autobatch/trial/child_process.h"
#include "autobatch/trial/classify.h"
#include "autobatch/trial/host_state.h"
#include "autobatch/trial/trial_transcript.h"
#include "autobatch/types/json.h"

namespace autobatch {
namespace {

// How long a child that closed the protocol is waited for: an exit says more than that.
constexpr absl::Duration kExitAfterClose = absl::Seconds(2);

ChildOptions WorkerChild(const WorkerPrograms& programs) {
  ChildOptions options;
  options.guard = programs.guard;
  options.command = {programs.worker};
  options.environment = programs.environment;
  options.working_directory = programs.working_directory;
  return options;
}

class WorkerTrialRunner final : public TrialRunner {
 public:
  explicit WorkerTrialRunner(WorkerTrialOptions options) : options_(std::move(options)) {}

  absl::StatusOr<Observation> Run(const TrialSpec& trial, SteadyTime deadline,
                                  const ProgressFunction& progress) override {
    if (cancel_.fd() < 0) {
      return absl::ResourceExhaustedError("no descriptor was left for cancelling trials");
    }
    const SteadyTime start = Clock::Real().Now();
    if (trial.fresh_process) Quit();
    const bool reused = worker_ != nullptr;
    AB_ASSIGN_OR_RETURN(Attempt attempt, TryOnce(trial, start, deadline, progress));
    if (reused && attempt.ended_unheard) {
      // It died while it was idle: no fault of this trial.
      AB_ASSIGN_OR_RETURN(attempt, TryOnce(trial, start, deadline, progress));
    }
    Observation& seen = attempt.seen;
    seen.trial = trial;
    seen.trial_ms = absl::ToDoubleMilliseconds(Between(start, Clock::Real().Now()));
    seen.simulated = seen.simulated || options_.device.simulated;
    if (seen.method.empty()) seen.method = "worker";
    return std::move(seen);
  }

  void Cancel() override { cancel_.Set(); }

 private:
  struct Attempt {
    Observation seen;
    // The process ended by itself before it answered anything.
    bool ended_unheard = false;
  };

  absl::StatusOr<Attempt> TryOnce(const TrialSpec& trial, SteadyTime start, SteadyTime deadline,
                                  const ProgressFunction& progress) {
    const HostState host = ReadHostState();
    if (worker_ == nullptr && !cancel_.IsSet()) AB_RETURN_IF_ERROR(StartWorker());
    // Of a MIG instance the worker may read the UUID of the whole GPU.
    TrialTranscript transcript(
        trial, hello_,
        options_.device.kind == DeviceKind::kCuda ? options_.device.uuid : std::string());
    TrialEvidence evidence;
    evidence.end = TrialEnd::kCancelled;
    evidence.host_available_bytes = host.available_bytes;
    bool has_result = false;
    if (worker_ != nullptr) {
      worker_->Send(ToJson(Request{.type = RequestType::kTrial, .trial = trial}) + "\n");
      has_result = Listen(start, deadline, progress, transcript, evidence);
    }
    Attempt attempt;
    if (has_result) {
      attempt.seen = Finish(trial, transcript);
    } else {
      attempt.ended_unheard = evidence.end == TrialEnd::kExited && transcript.steps().empty() &&
                              !transcript.phase().has_value();
      attempt.seen = Fail(trial, transcript, evidence, host);
    }
    return attempt;
  }

  absl::Status StartWorker() {
    ChildOptions child = WorkerChild(options_.programs);
    child.protocol = true;
    child.grace = options_.grace;
    // By UUID and not by number: a number means another device once the list is another. The CPU's
    // worker sees none, so that it makes no context on one.
    child.environment.emplace_back("CUDA_VISIBLE_DEVICES", options_.device.kind == DeviceKind::kCpu
                                                               ? ""
                                                               : options_.device.uuid);
    // OpenMP's threads wait for each other by spinning: where other processes want the cores too, a
    // step takes ten times as long. Read when the library is loaded, so the worker cannot set it.
    if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
      child.environment.emplace(child.environment.begin(), "OMP_WAIT_POLICY", "passive");
    }
    AB_ASSIGN_OR_RETURN(worker_, ChildProcess::Start(child));
    hello_.reset();
    worker_->Send(ToJson(Request{.type = RequestType::kSetup,
                                 .device = options_.device.kind,
                                 .workload = options_.workload}) +
                  "\n");
    return absl::OkStatus();
  }

  // Until there is a result; false when `evidence.end` says why there is none to be trusted.
  bool Listen(SteadyTime start, SteadyTime deadline, const ProgressFunction& progress,
              TrialTranscript& transcript, TrialEvidence& evidence) {
    const SteadyTime start_by =
        std::min(deadline, Add(Clock::Real().Now(), options_.start_timeout));
    SteadyTime closed_until = SteadyTime::max();
    while (!transcript.result().has_value()) {
      const SteadyTime until = transcript.hello().has_value() ? deadline : start_by;
      std::string bytes;
      const ChildEvent event = worker_->Wait(std::min(until, closed_until), cancel_, bytes);
      switch (event) {
        case ChildEvent::kOutput:
          if (absl::Status status = transcript.Append(bytes, progress); !status.ok()) {
            evidence.end = TrialEnd::kGarbage;
            evidence.garbage = std::string(status.message());
            return false;
          }
          break;
        case ChildEvent::kClosed:
          closed_until = Add(Clock::Real().Now(), kExitAfterClose);
          break;
        case ChildEvent::kExited:
          evidence.end = TrialEnd::kExited;
          return false;
        case ChildEvent::kCancelled:
          evidence.end = TrialEnd::kCancelled;
          return false;
        case ChildEvent::kDeadline:
          evidence.end = closed_until < until ? TrialEnd::kClosed : TrialEnd::kDeadline;
          evidence.limit = Between(start, until);
          return false;
      }
    }
    return true;
  }

  // The observation of a trial that has a result.
  Observation Finish(const TrialSpec& trial, const TrialTranscript& transcript) {
    Observation seen = *transcript.result();
    hello_ = transcript.hello();
    if (seen.ok()) seen.failure = CheckResult(trial, seen);
    if (seen.ok() && !trial.fresh_process) {
      if (!seen.host_peak_bytes.has_value()) seen.host_peak_bytes = PeakResidentBytes(hello_->pid);
      return seen;
    }
    const std::optional<GuardReport> report = Quit();
    if (report.has_value()) seen.host_peak_bytes = report->max_rss_bytes;
    if (seen.failure.has_value()) {
      if (seen.failure->advice.empty()) seen.failure->advice = AdviceFor(seen.failure->kind);
      if (seen.failure->stderr_tail.empty()) seen.failure->stderr_tail = last_stderr_;
    }
    return seen;
  }

  // Ends the worker; the observation of a trial that has no result.
  Observation Fail(const TrialSpec& trial, TrialTranscript& transcript, TrialEvidence& evidence,
                   const HostState& host_before) {
    if (worker_ != nullptr) {
      std::string rest;
      worker_->EndAndWait(rest);
      // Steps that it reported meanwhile count. What else it says does not any more.
      if (evidence.end != TrialEnd::kGarbage) transcript.Append(rest, {}).IgnoreError();
      evidence.report = worker_->report();
      evidence.stderr_tail = worker_->StderrTail();
      worker_.reset();
    } else {
      // Cancelled before there was a process: none is left.
      evidence.report.emplace();
    }
    evidence.said_hello = transcript.hello().has_value();
    evidence.phase = transcript.phase();
    evidence.steps = static_cast<int64_t>(transcript.steps().size());
    evidence.steps_asked = trial.steps;
    evidence.cut_short = transcript.cut_short();
    evidence.oom_kills = ReadHostState().oom_kills.value_or(0) - host_before.oom_kills.value_or(0);
    Observation seen;
    seen.failure = Classify(evidence);
    seen.steps = transcript.steps();
    if (!seen.steps.empty()) seen.first_step = seen.steps.front().peak;
    if (transcript.hello().has_value()) seen.parameters = transcript.hello()->parameters;
    if (evidence.report.has_value() && evidence.report->max_rss_bytes > 0) {
      seen.host_peak_bytes = evidence.report->max_rss_bytes;
    }
    hello_.reset();
    return seen;
  }

  // Lets the worker leave by itself, and makes it when it does not. Its memory is given back then.
  std::optional<GuardReport> Quit() {
    if (worker_ == nullptr) return std::nullopt;
    worker_->CloseRequests();
    const SteadyTime deadline = Add(Clock::Real().Now(), options_.grace);
    std::string ignored;
    while (true) {
      const ChildEvent event = worker_->Wait(deadline, cancel_, ignored);
      if (event != ChildEvent::kOutput && event != ChildEvent::kClosed) break;
      ignored.clear();
    }
    worker_->EndAndWait(ignored);
    const std::optional<GuardReport> report = worker_->report();
    last_stderr_ = worker_->StderrTail();
    worker_.reset();
    hello_.reset();
    return report;
  }

  const WorkerTrialOptions options_;
  CancelSignal cancel_;
  std::unique_ptr<ChildProcess> worker_;
  std::optional<Hello> hello_;
  // Of the worker that quit last.
  std::string last_stderr_;
};

}  // namespace

std::unique_ptr<TrialRunner> NewWorkerTrialRunner(WorkerTrialOptions options) {
  return std::make_unique<WorkerTrialRunner>(std::move(options));
}

absl::StatusOr<WorkerDescription> DescribeWorker(const WorkerPrograms& programs,
                                                 SteadyTime deadline) {
  ChildOptions options = WorkerChild(programs);
  options.command.push_back("--describe");
  // The description itself comes on stdout: a long line on a node of many devices.
  options.tail_bytes = size_t{1} << 20;
  AB_ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> worker, ChildProcess::Start(options));
  const CancelSignal never;
  std::string no_protocol;
  if (worker->Wait(deadline, never, no_protocol) != ChildEvent::kExited) {
    worker->EndAndWait(no_protocol);
    return absl::DeadlineExceededError(
        absl::StrCat(programs.worker, " --describe did not answer in time; does the driver hang?\n",
                     worker->StderrTail()));
  }
  TrialEvidence evidence;
  evidence.report = worker->report();
  evidence.stderr_tail = worker->StderrTail();
  if (!evidence.report.has_value() || evidence.report->start_errno != 0 ||
      evidence.report->wait_status != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(programs.worker, " ", Classify(evidence).message, "\n", evidence.stderr_tail));
  }
  const std::string text = worker->StdoutTail();
  std::string description;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "{")) description = std::string(line);
  }
  absl::StatusOr<WorkerDescription> read = FromJson<WorkerDescription>(description);
  if (read.ok()) return read;
  return absl::FailedPreconditionError(absl::StrCat(
      programs.worker, " --describe answered with no description (", read.status().message(),
      "); is it of another version?\n", evidence.stderr_tail));
}

}  // namespace autobatch
