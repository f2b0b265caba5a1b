#include "autobatch/trial/classify.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/units.h"
#include "autobatch/trial/error_log.h"
#include "autobatch/types/enum_names.h"
#include "autobatch/types/failure_text.h"

namespace autobatch {
namespace {

// Of a log in a report.
constexpr size_t kTailLines = 40;

// The line of a log that names this kind of error; what ended the program if no single one does.
std::string LineOfError(absl::string_view text, FailureKind kind, bool nearly_full) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (FindErrorInText(line, nearly_full) == kind) return ErrorSummary(line);
  }
  return FindLoggedError(text, kTailLines).line;
}

std::string SignalName(int signal_number) {
  const char* name = sigabbrev_np(signal_number);
  return name != nullptr ? absl::StrCat("SIG", name) : absl::StrCat("signal ", signal_number);
}

// To whole milliseconds.
std::string Rounded(absl::Duration duration) {
  return absl::FormatDuration(
      absl::Floor(duration + absl::Microseconds(500), absl::Milliseconds(1)));
}

// "in backward of step 3", "while it started".
std::string Where(const TrialEvidence& evidence) {
  if (!evidence.said_hello) return evidence.watched ? "while it ran" : "while it started";
  const int64_t step = evidence.steps + 1;
  const std::string of_step =
      step <= evidence.steps_asked ? absl::StrCat("step ", step) : "the last step";
  if (!evidence.phase.has_value()) {
    return absl::StrCat(step <= evidence.steps_asked ? "in " : "after ", of_step);
  }
  switch (*evidence.phase) {
    case TrialPhase::kForward:
    case TrialPhase::kLoss:
    case TrialPhase::kBackward:
    case TrialPhase::kOptimizer:
      return absl::StrCat("in ", EnumName(*evidence.phase), " of ", of_step);
    case TrialPhase::kStart:
    case TrialPhase::kLoad:
    case TrialPhase::kEvaluation:
    case TrialPhase::kEnd:
      break;
  }
  return absl::StrCat("in its phase '", EnumName(*evidence.phase), "'");
}

void Killed(const TrialEvidence& evidence, Failure& failure) {
  failure.kind = FailureKind::kHostOutOfMemory;
  failure.message = absl::StrCat(
      "killed (SIGKILL) ", Where(evidence), ", ", evidence.oom_kills > 0 ? "" : "probably ",
      "by the kernel's out-of-memory killer",
      evidence.oom_kills > 0 ? ", which ended a process during this trial" : "",
      evidence.host_available_bytes.has_value()
          ? absl::StrCat("; host memory available when the trial began was ",
                         FormatBytes(*evidence.host_available_bytes))
          : "");
}

// Of an end that no text explains.
FailureKind KindOfExit(const TrialEvidence& evidence, const Failure& failure) {
  if (failure.signal.has_value() || (evidence.said_hello && failure.exit_code == 0)) {
    return FailureKind::kCrashed;
  }
  // What a shell says of a command that it does not find or may not run.
  const bool not_run = failure.exit_code == 126 || failure.exit_code == 127;
  if (evidence.watched && !not_run) return FailureKind::kModelError;
  return evidence.said_hello ? FailureKind::kCrashed : FailureKind::kCannotStart;
}

// A child that ended without being told to.
void Exited(const TrialEvidence& evidence, Failure& failure) {
  if (!evidence.report.has_value()) {
    failure.kind = FailureKind::kCrashed;
    failure.message = absl::StrCat("ended from outside ", Where(evidence),
                                   ": the guard that watches the trial was killed");
    return;
  }
  const GuardReport& report = *evidence.report;
  if (report.start_errno != 0) {
    const int error = static_cast<int>(report.start_errno);
    const bool host = error == ENOMEM || error == EAGAIN;
    failure.kind = host ? FailureKind::kHostOutOfMemory : FailureKind::kCannotStart;
    failure.message = absl::StrCat("cannot be executed: ", strerror(error));
    return;
  }
  const int status = static_cast<int>(report.wait_status);
  if (failure.signal == SIGKILL) return Killed(evidence, failure);

  const std::string how =
      failure.signal.has_value()
          ? absl::StrCat("crashed (", SignalName(WTERMSIG(status)), ")")
          : absl::StrCat("exited with code ", WEXITSTATUS(status),
                         evidence.cut_short                         ? " in the middle of a line"
                         : evidence.watched && !evidence.said_hello ? ""
                                                                    : " without a result");
  // A segmentation fault speaks for itself; other ends often say why on stderr first:
  // std::terminate aborts, an interpreter exits with 1.
  const bool text_may_tell =
      failure.signal.has_value() ? failure.signal != SIGSEGV : failure.exit_code != 0;
  const std::string last = FindLoggedError(evidence.stderr_tail, kTailLines).line;
  if (text_may_tell) {
    // What it went on after counts only where its end says nothing.
    for (const absl::string_view text :
         {absl::string_view(last), absl::string_view(evidence.stderr_tail)}) {
      const auto kind = FindErrorInText(text, evidence.nearly_full);
      if (!kind.has_value()) continue;
      failure.kind = *kind;
      failure.message = absl::StrCat(how, " ", Where(evidence), ": ",
                                     LineOfError(text, *kind, evidence.nearly_full));
      failure.requested_bytes = RequestedBytesInText(text);
      return;
    }
  }
  failure.kind = KindOfExit(evidence, failure);
  failure.message = absl::StrCat(how, " ", Where(evidence), last.empty() ? "" : ": ", last);
}

}  // namespace

Failure Classify(const TrialEvidence& evidence) {
  Failure failure;
  failure.phase = evidence.phase;
  if (evidence.said_hello) failure.step = std::min(evidence.steps + 1, evidence.steps_asked);
  failure.stderr_tail = FindLoggedError(evidence.stderr_tail, kTailLines).excerpt;
  if (evidence.end == TrialEnd::kExited && evidence.report.has_value() &&
      evidence.report->start_errno == 0) {
    // Of a child that we ended these would only say how we ended it.
    const int status = static_cast<int>(evidence.report->wait_status);
    if (WIFEXITED(status)) failure.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) failure.signal = WTERMSIG(status);
  }
  switch (evidence.end) {
    case TrialEnd::kExited:
      Exited(evidence, failure);
      break;
    case TrialEnd::kDeadline:
      failure.kind = FailureKind::kTimeout;
      failure.message =
          absl::StrCat("no result within ", Rounded(evidence.limit), "; it was ", Where(evidence));
      break;
    case TrialEnd::kCancelled:
      failure.kind = FailureKind::kCancelled;
      failure.message = absl::StrCat("cancelled ", Where(evidence));
      break;
    case TrialEnd::kGarbage:
      failure.kind = FailureKind::kProtocol;
      failure.message =
          absl::StrCat("spoke no trial protocol ", Where(evidence), ": ", evidence.garbage);
      break;
    case TrialEnd::kClosed:
      failure.kind = FailureKind::kProtocol;
      failure.message =
          absl::StrCat("closed its report descriptor ", Where(evidence), " and lived on");
      break;
  }
  if (evidence.end != TrialEnd::kExited && !evidence.report.has_value()) {
    absl::StrAppend(&failure.message, "; the kernel has not let go of its process yet");
  }
  failure.advice = absl::StrContains(failure.message, kNoKernelImage) ? std::string(kNoKernelAdvice)
                                                                      : AdviceFor(failure.kind);
  return failure;
}

std::optional<Failure> CheckResult(const TrialSpec& asked, const Observation& result) {
  Failure failure;
  const auto ran = static_cast<int64_t>(result.steps.size());
  if (result.batch_seen.has_value() && *result.batch_seen != asked.batch) {
    failure.kind = FailureKind::kBatchIgnored;
    failure.message =
        absl::StrCat("asked for a batch of ", asked.batch, ", the model saw ", *result.batch_seen);
  } else if (ran < asked.steps) {
    // Not a protocol failure: the child spoke properly, its own loop ended early.
    failure.kind = FailureKind::kModelError;
    failure.message = absl::StrCat("ran ", ran, " of ", asked.steps,
                                   " steps and called it done: the data may have ended");
    failure.step = ran;
    failure.advice = "Let the loop go on until it is ended: begin the data anew, or give it more.";
  } else {
    return std::nullopt;
  }
  failure.phase = TrialPhase::kEnd;
  if (failure.advice.empty()) failure.advice = AdviceFor(failure.kind);
  return failure;
}

std::string AdviceFor(FailureKind kind) {
  switch (kind) {
    case FailureKind::kOutOfMemory:
      return "A smaller batch, smaller inputs, or mixed precision need less memory.";
    case FailureKind::kSuspectedOutOfMemory:
      return "Taken for a lack of memory, because next to none was left. Should it also happen at "
             "small "
             "batches, look at the driver and library versions.";
    case FailureKind::kModelError:
      return "Not a matter of memory: run the workload at this batch by itself to see the whole "
             "error.";
    case FailureKind::kIllegalAccess:
      return "Not a matter of memory: look for indices out of range (labels against classes, "
             "tokens "
             "against vocabulary), tensors of more than 2^31 elements, and Xid lines in the "
             "kernel's log.";
    case FailureKind::kNonFiniteLoss:
      return "Not a matter of memory: try another precision, or look at the loss.";
    case FailureKind::kHostOutOfMemory:
      return "The host's memory ran out, not the device's: close other programs, raise the "
             "container's "
             "limit, or start fewer devices side by side.";
    case FailureKind::kTimeout:
      return "Allow a trial more time, or look at where it hung.";
    case FailureKind::kCannotStart:
      return "Run the command by itself; its last lines say what is missing.";
    case FailureKind::kCrashed:
      return "Run the workload at this batch by itself, under a debugger if need be.";
    case FailureKind::kProtocol:
      return "Only the trial protocol may be written to the report descriptor; parent and worker "
             "have to "
             "be of the same version.";
    case FailureKind::kBatchIgnored:
      return "The workload has to take the batch it is given; a fixed batch in its code or data "
             "loader "
             "hides it.";
    case FailureKind::kCancelled:
      return "";
  }
  return "";
}

}  // namespace autobatch
