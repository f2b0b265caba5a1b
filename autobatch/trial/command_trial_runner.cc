#include "autobatch/trial/command_trial_runner.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/units.h"
#include "autobatch/trial/alloc_conf.h"
#include "autobatch/trial/cancel_signal.h"
#include "autobatch/trial/child_process.h"
#include "autobatch/trial/classify.h"
#include "autobatch/trial/command_environment.h"
#include "autobatch/trial/command_memory.h"
#include "autobatch/trial/command_verdict.h"
#include "autobatch/trial/host_memory.h"
#include "autobatch/trial/left_files.h"
#include "autobatch/trial/observer_file.h"
#include "autobatch/trial/rank_transcripts.h"
#include "autobatch/trial/scratch_folder.h"
#include "autobatch/types/command_template.h"
#include "autobatch/types/json.h"
#include "autobatch/types/observed_memory.h"

namespace autobatch {
namespace {

// How long a child that closed the protocol is waited for: an exit says more than that.
constexpr absl::Duration kExitAfterClose = absl::Seconds(2);
// Reading memory takes no more than this share of the time.
constexpr int kReadingShare = 20;
// What a command that keeps to a budget by itself may hold besides: an interpreter and a framework,
// which do not count to its training step.
constexpr int64_t kOwnCountAllowance = kGiB;
// Of its budget: an error that names no memory is one of memory above it.
constexpr double kNearlyFull = 0.95;

// Everything of one running trial.
struct Trial {
  const TrialSpec& spec;
  SteadyTime start;
  SteadyTime deadline;
  const ProgressFunction& progress;
  std::unique_ptr<ChildProcess> child;
  RankTranscripts transcript;
  CommandMemory memory;
  TrialEvidence evidence;
  std::optional<int64_t> held_at_hello;
  // It was ended for the memory that it held.
  bool over_budget = false;
};

Failure FailureOf(FailureKind kind, std::string message) {
  return {.kind = kind, .message = std::move(message), .advice = AdviceFor(kind)};
}

class CommandTrialRunner final : public TrialRunner {
 public:
  explicit CommandTrialRunner(CommandTrialOptions options)
      : options_(std::move(options)),
        left_files_(options_.working_directory.empty() ? "." : options_.working_directory) {}

  absl::StatusOr<Observation> Run(const TrialSpec& spec, SteadyTime deadline,
                                  const ProgressFunction& progress) override {
    if (cancel_.fd() < 0) {
      return absl::ResourceExhaustedError("no descriptor was left for cancelling trials");
    }
    const SteadyTime start = Clock::Real().Now();
    AB_ASSIGN_OR_RETURN(Observation seen, RunOnce(spec, start, deadline, progress));
    if (!fraction_refused_ && seen.failure.has_value() &&
        RefusesMemoryFraction(seen.failure->stderr_tail)) {
      fraction_refused_ = true;
      AB_ASSIGN_OR_RETURN(seen, RunOnce(spec, start, deadline, progress));
    }
    if (fraction_refused_) {
      seen.warnings.push_back(
          "this PyTorch has no per_process_memory_fraction setting: the budget was watched, not "
          "enforced");
    }
    if (const std::string left = left_files_.Describe(); !left.empty()) {
      seen.warnings.push_back(absl::StrCat("left in the working directory: ", left));
    }
    seen.trial = spec;
    seen.trial_ms = absl::ToDoubleMilliseconds(Between(start, Clock::Real().Now()));
    seen.simulated = seen.simulated || options_.device.simulated;
    return seen;
  }

  void Cancel() override { cancel_.Set(); }

 private:
  absl::StatusOr<Observation> RunOnce(const TrialSpec& spec, SteadyTime start, SteadyTime deadline,
                                      const ProgressFunction& progress) {
    AB_ASSIGN_OR_RETURN(const ScratchFolder output, ScratchFolder::Create());
    const HostMemory host = ReadHostMemory();
    CommandMemory memory(options_.device, spec, options_.read_device_memory);
    absl::StatusOr<CommandEnvironment> environment = MakeCommandEnvironment(
        options_.device, output.path(), fraction_refused_ ? std::nullopt : memory.Fraction());
    if (!environment.ok()) {
      Observation refused;
      refused.failure =
          FailureOf(FailureKind::kCannotStart, std::string(environment.status().message()));
      refused.failure->advice = "leave that setting out for the trials and for training";
      return refused;
    }
    Trial trial = {.spec = spec,
                   .start = start,
                   .deadline = deadline,
                   .progress = progress,
                   .transcript = RankTranscripts(
                       spec, options_.device.kind == DeviceKind::kCuda ? options_.device.uuid : ""),
                   .memory = std::move(memory)};
    AB_RETURN_IF_ERROR(Preload(trial.memory, *environment));
    trial.evidence.end = TrialEnd::kCancelled;
    trial.evidence.watched = true;
    trial.evidence.host_available_bytes = host.available_bytes;
    if (!cancel_.IsSet()) {
      AB_RETURN_IF_ERROR(Start(trial, *environment, output.path()));
      Listen(trial);
    }
    return Finish(trial, environment->warnings, host);
  }

  // Puts the observer before what else is preloaded.
  absl::Status Preload(CommandMemory& memory, CommandEnvironment& environment) const {
    // A preload's path may hold neither spaces nor colons.
    if (options_.observer.empty() || options_.device.kind == DeviceKind::kCpu ||
        options_.observer.find_first_of(" :") != std::string::npos) {
      return absl::OkStatus();
    }
    AB_ASSIGN_OR_RETURN(std::unique_ptr<ObserverFile> file, ObserverFile::Create(memory.limit()));
    environment.variables.emplace_back(kObserverFileVariable, file->path());
    std::string others = OwnEnvironment("LD_PRELOAD").value_or("");
    for (const auto& [name, value] : options_.environment) {
      if (name == "LD_PRELOAD") others = value;
    }
    environment.variables.emplace_back(
        "LD_PRELOAD", absl::StrCat(options_.observer, others.empty() ? "" : " ", others));
    memory.Believe(std::move(file));
    return absl::OkStatus();
  }

  absl::Status Start(Trial& trial, const CommandEnvironment& environment,
                     const std::string& output_dir) {
    const TrialSpec& spec = trial.spec;
    ChildOptions child;
    child.guard = options_.guard;
    child.command =
        FillPlaceholders(options_.workload.command,
                         {.batch = spec.batch,
                          .accumulation = spec.accumulation,
                          .global_batch = spec.batch * spec.accumulation * options_.world_size,
                          // The first and only one that it sees.
                          .device = options_.device.kind == DeviceKind::kCpu ? "cpu" : "cuda:0",
                          .seed = spec.seed,
                          .steps = spec.steps,
                          .output_dir = output_dir});
    if (absl::StrContains(child.command[0], '/')) {
      child.command[0] =
          (std::filesystem::path(options_.working_directory) / child.command[0]).string();
    }
    child.environment = options_.environment;
    child.environment.insert(child.environment.end(), environment.variables.begin(),
                             environment.variables.end());
    child.working_directory = options_.working_directory;
    child.protocol = true;
    child.grace = options_.grace;
    AB_ASSIGN_OR_RETURN(trial.child, ChildProcess::Start(child));
    trial.child->Send(ToJson(Request{.type = RequestType::kSetup,
                                     .device = options_.device.kind,
                                     .workload = options_.workload}) +
                      "\n");
    trial.child->Send(ToJson(Request{.type = RequestType::kTrial, .trial = spec}) + "\n");
    trial.child->CloseRequests();
    return absl::OkStatus();
  }

  // Until there is a result, or the command has ended or must be ended.
  void Listen(Trial& trial) {
    SteadyTime closed_until = SteadyTime::max();
    SteadyTime next_reading = Clock::Real().Now();
    while (!trial.transcript.result().has_value()) {
      std::string bytes;
      const ChildEvent event =
          trial.child->Wait(std::min({trial.deadline, closed_until, next_reading}), cancel_, bytes);
      switch (event) {
        case ChildEvent::kOutput:
          if (absl::Status status = trial.transcript.Append(bytes, trial.progress); !status.ok()) {
            trial.evidence.end = TrialEnd::kGarbage;
            trial.evidence.garbage = std::string(status.message());
            return;
          }
          break;
        case ChildEvent::kClosed:
          // One that never said hello knows nothing of the protocol, and may close what it likes.
          if (trial.transcript.hello().has_value()) {
            closed_until = Add(Clock::Real().Now(), kExitAfterClose);
          }
          break;
        case ChildEvent::kExited:
          trial.evidence.end = TrialEnd::kExited;
          return;
        case ChildEvent::kCancelled:
          trial.evidence.end = TrialEnd::kCancelled;
          return;
        case ChildEvent::kDeadline: {
          const SteadyTime now = Clock::Real().Now();
          if (now >= std::min(trial.deadline, closed_until)) {
            trial.evidence.end =
                closed_until < trial.deadline ? TrialEnd::kClosed : TrialEnd::kDeadline;
            trial.evidence.limit = Between(trial.start, trial.deadline);
            return;
          }
          trial.memory.Read(trial.child->guard_pid(), Between(trial.start, now));
          if (trial.memory.Exceeds(Allowance(trial))) {
            trial.over_budget = true;
            return;
          }
          const SteadyTime read = Clock::Real().Now();
          next_reading =
              Add(read, std::max(options_.reading_interval, kReadingShare * Between(now, read)));
          break;
        }
      }
    }
  }

  // A command that speaks the protocol counts for itself, from where it begins; whether it does is
  // known after the first trial, or once it has said hello.
  int64_t Allowance(Trial& trial) {
    if (trial.transcript.hello().has_value()) {
      speaks_ = true;
      if (!trial.held_at_hello.has_value()) trial.held_at_hello = trial.memory.peak_bytes();
      return *trial.held_at_hello + kOwnCountAllowance;
    }
    return speaks_ == false ? 0 : kOwnCountAllowance;
  }

  absl::StatusOr<Observation> Finish(Trial& trial, std::vector<std::string> warnings,
                                     const HostMemory& host_before) {
    TrialEvidence& evidence = trial.evidence;
    if (trial.child != nullptr) {
      std::string rest;
      if (trial.transcript.result().has_value() && WaitForExit(*trial.child)) {
        evidence.end = TrialEnd::kExited;
      }
      trial.child->EndAndWait(rest);
      // Steps that it reported meanwhile count. What else it says does not any more.
      if (evidence.end != TrialEnd::kGarbage) trial.transcript.Append(rest, {}).IgnoreError();
      if (evidence.end == TrialEnd::kExited) trial.transcript.End();
      evidence.report = trial.child->report();
      evidence.stderr_tail = trial.child->StderrTail();
      if (evidence.report.has_value()) trial.memory.AddProcess(evidence.report->max_rss_bytes);
    }
    evidence.said_hello = trial.transcript.hello().has_value();
    if (evidence.said_hello || ExitedWell(evidence)) speaks_ = evidence.said_hello;
    evidence.phase = trial.transcript.phase();
    evidence.steps = static_cast<int64_t>(trial.transcript.steps().size());
    evidence.steps_asked = trial.spec.steps;
    evidence.cut_short = trial.transcript.cut_short();
    evidence.oom_kills = ReadHostMemory().oom_kills.value_or(0) - host_before.oom_kills.value_or(0);
    evidence.nearly_full = trial.memory.limit().has_value() &&
                           trial.memory.peak_bytes() > kNearlyFull * *trial.memory.limit();

    Observation seen = trial.transcript.result().has_value() ? SelfMeasured(trial) : Watched(trial);
    seen.warnings.insert(seen.warnings.end(), warnings.begin(), warnings.end());
    for (const std::string& warning : trial.memory.warnings()) seen.warnings.push_back(warning);
    if (evidence.report.has_value() && !evidence.report->left.empty()) {
      seen.warnings.push_back(absl::StrCat("left processes behind, which were ended: ",
                                           absl::StrJoin(evidence.report->left, ", ")));
    }
    if (seen.failure.has_value()) {
      if (seen.failure->advice.empty()) seen.failure->advice = AdviceFor(seen.failure->kind);
      if (seen.failure->stderr_tail.empty()) seen.failure->stderr_tail = evidence.stderr_tail;
    }
    return seen;
  }

  // A command that has its result may have things of its own to end. False: it goes on.
  bool WaitForExit(ChildProcess& child) {
    const SteadyTime deadline = Add(Clock::Real().Now(), options_.grace);
    std::string ignored;
    while (true) {
      const ChildEvent event = child.Wait(deadline, cancel_, ignored);
      if (event == ChildEvent::kExited) return true;
      if (event != ChildEvent::kOutput && event != ChildEvent::kClosed) return false;
      ignored.clear();
    }
  }

  // The observation of a command that measured itself.
  Observation SelfMeasured(const Trial& trial) const {
    Observation seen = *trial.transcript.result();
    if (seen.ok()) seen.failure = CheckResult(trial.spec, seen);
    if (seen.method.empty()) seen.method = "protocol";
    if (!seen.budget_bytes.has_value()) seen.budget_bytes = trial.memory.limit();
    if (seen.PeakReserved() == 0) seen.steady = PeakOf(trial);
    seen.host_peak_bytes = trial.memory.host_peak_bytes();
    const std::optional<GuardReport>& report = trial.evidence.report;
    const bool exited = trial.evidence.end == TrialEnd::kExited && report.has_value();
    if (seen.ok() && exited && report->wait_status != 0) {
      seen.warnings.push_back(
          absl::StrCat("after its steps the command ", Classify(trial.evidence).message));
    }
    return seen;
  }

  // The observation of a command without a result.
  Observation Watched(const Trial& trial) const {
    Observation seen;
    seen.method = trial.memory.observed() ? kObserverMethod : kDriverMethod;
    seen.steps = trial.transcript.steps();
    if (!seen.steps.empty()) seen.first_step = seen.steps.front().peak;
    if (trial.memory.peak_bytes() > 0) seen.steady = PeakOf(trial);
    seen.budget_bytes = trial.memory.limit();
    seen.total_bytes = trial.memory.total_bytes();
    seen.free_before_bytes = trial.memory.free_before_bytes();
    if (seen.free_before_bytes.has_value()) {
      // The peak holds the context and everything else of the command.
      seen.free_after_bytes = *seen.free_before_bytes - trial.memory.peak_bytes();
    }
    seen.host_peak_bytes = trial.memory.host_peak_bytes();
    if (const auto& hello = trial.transcript.hello(); hello.has_value()) {
      seen.parameters = hello->parameters;
    }
    seen.failure = JudgeCommand({.trial = trial.evidence,
                                 .over_budget = trial.over_budget,
                                 .peak_bytes = trial.memory.peak_bytes(),
                                 .budget_bytes = trial.memory.limit(),
                                 .refusals = trial.memory.refusals(),
                                 .refused_bytes = trial.memory.refused_bytes()},
                                options_.workload.command);
    seen.unsettled = seen.ok() && trial.memory.StillGrew();
    if (seen.ok()) seen.retries = trial.memory.refusals();
    if (trial.memory.observed()) {
      seen.context_bytes = trial.memory.context_bytes();
      if (seen.ok() && !seen.context_bytes.has_value()) {
        seen.warnings.push_back(
            "the driver's own memory for the command (its context) was not seen before it ended, "
            "and is missing in the peak");
      }
    }
    return seen;
  }

  static MemoryPeak PeakOf(const Trial& trial) {
    // Seen from outside, what is held and what is used are one.
    return {.reserved_bytes = trial.memory.peak_bytes(),
            .allocated_bytes = trial.memory.peak_bytes()};
  }

  const CommandTrialOptions options_;
  CancelSignal cancel_;
  LeftFiles left_files_;
  // Absent: not known yet.
  std::optional<bool> speaks_;
  // This PyTorch is older than the setting.
  bool fraction_refused_ = false;
};

}  // namespace

std::unique_ptr<TrialRunner> NewCommandTrialRunner(CommandTrialOptions options) {
  return std::make_unique<CommandTrialRunner>(std::move(options));
}

}  // namespace autobatch
