#include "autobatch/trial/command_trials.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/base/scratch_folder.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/base/units.h"
#include "autobatch/trial/alloc_conf.h"
#include "autobatch/trial/classify.h"
#include "autobatch/trial/command_memory.h"
#include "autobatch/trial/command_observation.h"
#include "autobatch/trial/command_verdict.h"
#include "autobatch/trial/error_log.h"
#include "autobatch/trial/node_verdict.h"
#include "autobatch/trial/observer_file.h"
#include "autobatch/trial/process_tree.h"
#include "autobatch/trial/rank_transcripts.h"
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
// Of each rank's stderr there may be a stack trace, below which a launcher speaks of all of them.
constexpr size_t kTailLines = 2000;
constexpr size_t kTailBytes = size_t{256} << 10;
constexpr size_t kReportedLines = 40;
// Of its budget: an error that names no memory is one of memory above it.
constexpr double kNearlyFull = 0.95;

Failure FailureOf(FailureKind kind, std::string message) {
  return {.kind = kind, .message = std::move(message), .advice = AdviceFor(kind)};
}

}  // namespace

struct CommandTrials::Trial {
  // One a device.
  std::span<const TrialSpec> specs;
  SteadyTime start;
  SteadyTime deadline;
  const ProgressFunction& progress;
  // Null: nothing observes.
  std::unique_ptr<ObserverFile> observer;
  std::vector<CommandMemory> memories;
  RankTranscripts transcript;
  std::unique_ptr<ChildProcess> child;
  TrialEvidence evidence;
  std::optional<int64_t> held_at_hello;
  // It was ended for the memory that it held.
  bool over_budget = false;
};

CommandTrials::CommandTrials(CommandTrialOptions options)
    : options_(std::move(options)),
      on_cpu_(options_.devices.front().kind == DeviceKind::kCpu),
      left_files_(options_.working_directory.empty() ? "." : options_.working_directory),
      contexts_(options_.devices.size()),
      framework_(options_.saw_framework) {}

absl::StatusOr<NodeObservation> CommandTrials::Run(std::span<const TrialSpec> specs,
                                                   SteadyTime deadline,
                                                   const ProgressFunction& progress) {
  if (cancel_.fd() < 0) {
    return absl::ResourceExhaustedError("no descriptor was left for cancelling trials");
  }
  const SteadyTime start = Clock::Real().Now();
  AB_ASSIGN_OR_RETURN(NodeObservation seen, RunOnce(specs, start, deadline, progress));
  const std::optional<Failure>& failure = seen.devices[seen.failed].failure;
  if (!fraction_refused_ && failure.has_value() && RefusesMemoryFraction(failure->stderr_tail)) {
    fraction_refused_ = true;
    AB_ASSIGN_OR_RETURN(seen, RunOnce(specs, start, deadline, progress));
  }
  std::vector<std::string>& warnings = seen.devices.front().warnings;
  if (fraction_refused_) {
    warnings.push_back(
        "this PyTorch has no per_process_memory_fraction setting: the budget was watched, not "
        "enforced");
  }
  if (const std::string left = left_files_.Describe(); !left.empty()) {
    warnings.push_back(absl::StrCat("left in the working directory: ", left));
  }
  const double trial_ms = absl::ToDoubleMilliseconds(Between(start, Clock::Real().Now()));
  for (size_t i = 0; i < seen.devices.size(); ++i) {
    seen.devices[i].trial = specs[i];
    seen.devices[i].trial_ms = trial_ms;
    seen.devices[i].simulated |= options_.devices[i].simulated;
  }
  return seen;
}

absl::StatusOr<NodeObservation> CommandTrials::RunOnce(std::span<const TrialSpec> specs,
                                                       SteadyTime start, SteadyTime deadline,
                                                       const ProgressFunction& progress) {
  AB_ASSIGN_OR_RETURN(const ScratchFolder output, ScratchFolder::Create());
  // One of its own: an output folder may have to be empty.
  AB_ASSIGN_OR_RETURN(const ScratchFolder temporary, ScratchFolder::Create());
  const HostState host = ReadHostState();
  std::vector<CommandMemory> memories;
  std::vector<std::string> uuids;
  for (size_t i = 0; i < specs.size(); ++i) {
    const Device& device = options_.devices[i];
    CommandMemory::ReadDevice read;
    if (options_.read_device_memory) {
      read = [this, &device] { return options_.read_device_memory(device); };
    }
    memories.emplace_back(device, specs[i], std::move(read), contexts_[i]);
    // Of a MIG instance nobody but its driver knows the name.
    const bool named = device.kind == DeviceKind::kCuda;
    uuids.push_back(named ? device.uuid : "");
  }
  absl::StatusOr<CommandEnvironment> environment = MakeCommandEnvironment(
      options_.devices, output.path(), fraction_refused_ ? std::nullopt : CommonFraction(memories));
  if (!environment.ok()) {
    Failure failure =
        FailureOf(FailureKind::kCannotStart, std::string(environment.status().message()));
    failure.advice = "leave that setting out for the trials and for training";
    return NodeObservation{.devices = std::vector<Observation>(
                               specs.size(), Observation{.failure = std::move(failure)})};
  }
  environment->variables.emplace_back("TMPDIR", temporary.path());
  Trial trial = {.specs = specs,
                 .start = start,
                 .deadline = deadline,
                 .progress = progress,
                 .memories = std::move(memories),
                 .transcript = RankTranscripts(specs.front(), std::move(uuids))};
  AB_RETURN_IF_ERROR(Preload(trial, *environment));
  trial.evidence.end = TrialEnd::kCancelled;
  trial.evidence.watched = true;
  trial.evidence.host_available_bytes = host.available_bytes;
  if (!cancel_.IsSet()) {
    AB_RETURN_IF_ERROR(Start(trial, *environment, output.path()));
    Listen(trial);
  }
  return Finish(trial, environment->warnings, host);
}

absl::Status CommandTrials::Preload(Trial& trial, CommandEnvironment& environment) const {
  if (options_.observer.empty() || on_cpu_) return absl::OkStatus();
  std::vector<ObservedBudget> budgets;
  for (size_t i = 0; i < trial.memories.size(); ++i) {
    budgets.push_back({options_.devices[i].uuid, trial.memories[i].AllocatorLimit()});
  }
  AB_ASSIGN_OR_RETURN(trial.observer, ObserverFile::Create(budgets));
  const std::string preload = trial.observer->PreloadPath(options_.observer);
  if (preload.empty()) {
    trial.observer.reset();
    return absl::OkStatus();
  }
  environment.variables.emplace_back(kObserverFileVariable, trial.observer->path());
  std::string others = OwnEnvironment("LD_PRELOAD").value_or("");
  for (const auto& [name, value] : options_.environment) {
    if (name == "LD_PRELOAD") others = value;
  }
  environment.variables.emplace_back("LD_PRELOAD",
                                     absl::StrCat(preload, others.empty() ? "" : " ", others));
  for (size_t i = 0; i < trial.memories.size(); ++i) {
    trial.memories[i].Believe(trial.observer->device(i));
  }
  return absl::OkStatus();
}

absl::Status CommandTrials::Start(Trial& trial, const CommandEnvironment& environment,
                                  const std::string& output_dir) {
  const TrialSpec& spec = trial.specs.front();
  ChildOptions child;
  child.guard = options_.guard;
  child.command =
      FillPlaceholders(options_.workload.command,
                       {.batch = spec.batch,
                        .accumulation = spec.accumulation,
                        .global_batch = spec.batch * spec.accumulation * options_.world_size,
                        // The first and only one that it sees; of several, each rank has its own.
                        .device = on_cpu_                  ? "cpu"
                                  : trial.specs.size() > 1 ? "cuda"
                                                           : "cuda:0",
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
  child.tail_lines = kTailLines;
  child.tail_bytes = kTailBytes;
  AB_ASSIGN_OR_RETURN(trial.child, ChildProcess::Start(child));
  Request asked{.type = RequestType::kTrial, .trial = Strictest(trial.specs)};
  for (size_t i = 0; i < trial.specs.size() && trial.specs.size() > 1; ++i) {
    asked.devices.push_back({.uuid = options_.devices[i].uuid,
                             .limit_bytes = trial.specs[i].limit_bytes,
                             .reserve_bytes = trial.specs[i].reserve_bytes});
  }
  trial.child->Send(ToJson(Request{.type = RequestType::kSetup,
                                   .device = options_.devices.front().kind,
                                   .workload = options_.workload}) +
                    "\n");
  trial.child->Send(ToJson(asked) + "\n");
  trial.child->CloseRequests();
  return absl::OkStatus();
}

void CommandTrials::Listen(Trial& trial) {
  SteadyTime closed_until = SteadyTime::max();
  SteadyTime next_reading = Clock::Real().Now();
  while (!trial.transcript.done()) {
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
        const ProcessTree tree = ReadProcessTree(trial.child->guard_pid());
        for (CommandMemory& memory : trial.memories) {
          memory.Read(tree, Between(trial.start, now));
        }
        framework_.Look(tree.pids);
        if (trial.memories.front().Exceeds(Allowance(trial))) {
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
int64_t CommandTrials::Allowance(Trial& trial) {
  if (trial.transcript.hello().has_value()) {
    speaks_ = true;
    if (!trial.held_at_hello.has_value()) {
      trial.held_at_hello = trial.memories.front().peak_bytes();
    }
    return *trial.held_at_hello + kOwnCountAllowance;
  }
  return speaks_ == false ? 0 : kOwnCountAllowance;
}

NodeObservation CommandTrials::Finish(Trial& trial, const std::vector<std::string>& warnings,
                                      const HostState& host_before) {
  TrialEvidence& evidence = trial.evidence;
  if (trial.child != nullptr) {
    std::string rest;
    if (trial.transcript.done() && WaitForExit(*trial.child)) evidence.end = TrialEnd::kExited;
    trial.child->EndAndWait(rest);
    // Steps that it reported meanwhile count. What else it says does not any more.
    if (evidence.end != TrialEnd::kGarbage) trial.transcript.Append(rest, {}).IgnoreError();
    if (evidence.end == TrialEnd::kExited) trial.transcript.End();
    evidence.report = trial.child->report();
    evidence.stderr_tail = trial.child->StderrTail();
    if (evidence.report.has_value()) {
      for (CommandMemory& memory : trial.memories) {
        memory.AddProcess(evidence.report->max_rss_bytes);
      }
    }
  }
  evidence.said_hello = trial.transcript.hello().has_value();
  if (evidence.said_hello || ExitedWell(evidence)) speaks_ = evidence.said_hello;
  evidence.phase = trial.transcript.phase();
  evidence.steps = static_cast<int64_t>(trial.transcript.steps().size());
  evidence.steps_asked = trial.specs.front().steps;
  evidence.cut_short = trial.transcript.cut_short();
  evidence.oom_kills = ReadHostState().oom_kills.value_or(0) - host_before.oom_kills.value_or(0);
  for (size_t i = 0; i < trial.memories.size(); ++i) {
    evidence.nearly_full |= trial.memories[i].Fullness() > kNearlyFull;
    contexts_[i] = trial.memories[i].context_bytes();
  }
  NodeObservation seen = Observe(trial);
  AddCommonWarnings(trial, warnings, seen.devices.front());
  return seen;
}

bool CommandTrials::WaitForExit(ChildProcess& child) {
  const SteadyTime deadline = Add(Clock::Real().Now(), options_.grace);
  std::string ignored;
  while (true) {
    const ChildEvent event = child.Wait(deadline, cancel_, ignored);
    if (event == ChildEvent::kExited) return true;
    if (event != ChildEvent::kOutput && event != ChildEvent::kClosed) return false;
    ignored.clear();
  }
}

NodeObservation CommandTrials::Observe(const Trial& trial) const {
  NodeObservation seen;
  std::optional<Failure> failure;
  const RankTranscripts& said = trial.transcript;
  if (said.failed().has_value()) {
    seen.failed = *said.failed();
    failure = said.result(seen.failed)->failure;
  } else if (!said.done()) {
    seen.failed = LikelyCulprit(trial.memories);
    const CommandMemory& suspect = trial.memories[seen.failed];
    failure = JudgeCommand(
        {.trial = trial.evidence,
         .over_budget = trial.over_budget,
         .peak_bytes = suspect.peak_bytes(),
         .budget_bytes = suspect.limit(),
         .refusals = suspect.refusals(),
         .refused_bytes = suspect.refused_bytes(),
         .python_errors = trial.observer == nullptr ? 0 : trial.observer->python_errors(),
         .untouched = std::ranges::all_of(trial.memories, &CommandMemory::untouched),
         .simulated = options_.devices[seen.failed].simulated},
        options_.workload.command);
  }
  // Of several devices nobody knows on which one such a step was.
  const bool alone = trial.memories.size() == 1;
  const std::vector<StepObservation> steps = alone ? said.steps() : std::vector<StepObservation>();
  for (size_t i = 0; i < trial.memories.size(); ++i) {
    const CommandMemory& memory = trial.memories[i];
    seen.devices.push_back(said.done() && said.result(i).has_value()
                               ? SelfMeasured(trial.specs[i], *said.result(i), memory)
                               : Watched(memory, steps, said.hello(), failure));
    Observation& device = seen.devices.back();
    JudgeGrowth(trial.observer.get(), i, trial.specs[i], options_.workload.command, device);
    device.warnings.insert(device.warnings.end(), memory.warnings().begin(),
                           memory.warnings().end());
  }
  if (!alone) CheckDevices(options_.devices, said.spoke(), seen);
  SpreadFailure(options_.devices,
                FindLoggedError(trial.evidence.stderr_tail, kReportedLines).excerpt, seen);
  return seen;
}

void CommandTrials::AddCommonWarnings(const Trial& trial, const std::vector<std::string>& warnings,
                                      Observation& seen) const {
  const std::optional<GuardReport>& report = trial.evidence.report;
  const bool exited = trial.evidence.end == TrialEnd::kExited && report.has_value();
  if (trial.transcript.done() && seen.ok() && exited && report->wait_status != 0) {
    seen.warnings.push_back(
        absl::StrCat("after its steps the command ", Classify(trial.evidence).message));
  }
  seen.warnings.insert(seen.warnings.end(), warnings.begin(), warnings.end());
  if (report.has_value() && !report->left.empty()) {
    seen.warnings.push_back(absl::StrCat("left processes behind, which were ended: ",
                                         absl::StrJoin(report->left, ", ")));
  }
}

}  // namespace autobatch
