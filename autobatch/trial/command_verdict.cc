#include "autobatch/trial/command_verdict.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/units.h"
#include "autobatch/types/command_template.h"

namespace autobatch {
namespace {

Failure FailureOf(FailureKind kind, std::string message, std::string advice) {
  return {.kind = kind, .message = std::move(message), .advice = std::move(advice)};
}

// Why a simulated device does not serve, if that is what `log` says: " (simcuda: …)".
std::string SimulatorsWords(absl::string_view log) {
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    if (absl::StartsWith(line, "simcuda: ")) return absl::StrCat(" (", line, ")");
  }
  return "";
}

// Somebody was to answer, or to look at it.
bool WantsTerminal(absl::string_view message) {
  for (const absl::string_view word :
       {"EOFError: EOF when reading a line", "TTY", "a tty", "Inappropriate ioctl for device"}) {
    if (absl::StrContains(message, word)) return true;
  }
  return false;
}

// What to do about an error that is the command's own.
std::string AdviceOfOwnError(const CommandEvidence& evidence, const Failure& failure) {
  if (WantsTerminal(failure.message)) {
    return "In a trial nobody answers: its standard input is empty, and there is no terminal. "
           "Start the script with "
           "the option that asks nothing, or answer for yourself: -- sh -c 'yes | python train.py "
           "--batch {batch}'.";
  }
  return absl::StrCat(failure.advice,
                      evidence.simulated
                          ? " On a simulated device a script that checks values can fail: nothing "
                            "is computed there, what is read "
                            "back is zero or what a rule says (AUTOBATCH_SIM_READ_BACK in --help)."
                          : "");
}

Failure Ended(const CommandEvidence& evidence, std::span<const std::string> command) {
  Failure failure = Classify(evidence.trial);
  const bool untold =
      failure.kind == FailureKind::kModelError || failure.kind == FailureKind::kCrashed;
  if (untold && evidence.refusals > 0) {
    // Whatever the framework has made of it.
    failure.kind = FailureKind::kOutOfMemory;
    failure.message = absl::StrCat("an allocation of ", FormatBytes(evidence.refused_bytes),
                                   " was refused; then it ", failure.message);
    failure.requested_bytes = evidence.refused_bytes;
    failure.advice = AdviceFor(failure.kind);
  }
  if (const std::optional<GuardReport>& report = evidence.trial.report;
      report.has_value() && report->start_errno != 0) {
    failure.message = absl::StrCat("'", command.front(), "' ", failure.message);
    if (absl::StrContains(command.front(), ' ')) {
      failure.advice =
          "The whole command is one word: write its words apart, without quotes around them all.";
    }
  }
  if (failure.kind == FailureKind::kModelError)
    failure.advice = AdviceOfOwnError(evidence, failure);
  if (untold) absl::StrAppend(&failure.message, SimulatorsWords(evidence.trial.stderr_tail));
  if (failure.kind == FailureKind::kTimeout && !UsesPlaceholder(command, "steps")) {
    failure.advice =
        "Let the command end by itself after a few steps: give it {steps}, or call "
        "autobatch.step() in its loop; or allow a trial more time (--trial-timeout).";
  }
  return failure;
}

}  // namespace

bool ExitedWell(const TrialEvidence& evidence) {
  return evidence.end == TrialEnd::kExited && evidence.report.has_value() &&
         evidence.report->start_errno == 0 && evidence.report->wait_status == 0;
}

std::optional<Failure> JudgeCommand(const CommandEvidence& evidence,
                                    std::span<const std::string> command) {
  const TrialEvidence& trial = evidence.trial;
  if (evidence.over_budget) {
    Failure failure =
        FailureOf(FailureKind::kOutOfMemory,
                  absl::StrCat("the command and its descendants held ",
                               FormatBytes(evidence.peak_bytes), ", the budget is ",
                               FormatBytes(evidence.budget_bytes.value_or(0)), "; it was ended"),
                  AdviceFor(FailureKind::kOutOfMemory));
    failure.phase = trial.phase;
    return failure;
  }
  if (!ExitedWell(trial)) return Ended(evidence, command);
  if (trial.said_hello) {
    Failure failure =
        FailureOf(FailureKind::kModelError,
                  absl::StrCat("ended after ", trial.steps, " of ", trial.steps_asked,
                               " steps: the data or the loop ended before"),
                  "Give the loop as many steps as are asked for ({steps}), or more data.");
    failure.step = trial.steps;
    failure.phase = TrialPhase::kEnd;
    return failure;
  }
  if (!UsesPlaceholder(command, "batch")) {
    return FailureOf(
        FailureKind::kBatchIgnored,
        "the command has no {batch} and does not speak the trial protocol: nothing tells it the "
        "batch",
        "Write {batch} where the batch size belongs in the command, or use autobatch.trial() in "
        "the script.");
  }
  if (evidence.python_errors > 0) {
    Failure failure = FailureOf(FailureKind::kOutOfMemory,
                                "it ran out of memory, caught that error and went on: with a "
                                "smaller batch, or without this one",
                                "The next smaller batches are tried. Should even the smallest fail "
                                "so, turn off what looks for a batch in the "
                                "script itself.");
    if (evidence.refusals > 0) failure.requested_bytes = evidence.refused_bytes;
    return failure;
  }
  if (evidence.untouched) {
    return FailureOf(
        FailureKind::kModelError,
        absl::StrCat("it ended well and never used the GPU", SimulatorsWords(trial.stderr_tail)),
        "See that its framework was built with CUDA (python -c 'import torch; "
        "print(torch.version.cuda)') and that the script moves its model to the device; of a "
        "static program, or one with another user's rights (setuid, sudo), nothing is seen.");
  }
  return std::nullopt;
}

}  // namespace autobatch
