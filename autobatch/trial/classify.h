#ifndef AUTOBATCH_TRIAL_CLASSIFY_H_
#define AUTOBATCH_TRIAL_CLASSIFY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "autobatch/trial/guard_report.h"
#include "autobatch/types/failure.h"
#include "autobatch/types/observation.h"

namespace autobatch {

// How a trial ended that has no result.
enum class TrialEnd {
  kExited,     // The child ended by itself, or somebody ended it.
  kDeadline,   // We ended it: its time was up.
  kCancelled,  // We ended it: nobody wants the answer any more.
  kGarbage,    // We ended it: what it said is not the protocol.
  kClosed,     // We ended it: it closed the protocol and lived on.
};

// All that the parent knows then.
struct TrialEvidence {
  TrialEnd end = TrialEnd::kExited;
  // What was wrong with what it said (kGarbage).
  std::string garbage;
  // The time it was given (kDeadline).
  absl::Duration limit;
  bool said_hello = false;
  // A command that need not say hello: it was watched from outside, and nothing is known of its
  // phases and steps.
  bool watched = false;
  // When it ended, next to nothing was left of its budget.
  bool nearly_full = false;
  // The last that it entered.
  std::optional<TrialPhase> phase;
  // Steps that it reported, of those asked.
  int64_t steps = 0;
  int64_t steps_asked = 0;
  // Its last line had no end.
  bool cut_short = false;
  // Absent when the child could not be ended, or its guard was killed.
  std::optional<GuardReport> report;
  std::string stderr_tail;
  // When the trial began; absent where the kernel does not tell.
  std::optional<int64_t> host_available_bytes;
  // Processes that the host's out-of-memory killer ended during the trial.
  int64_t oom_kills = 0;
};

// The failure, with its message, advice and everything else that the evidence tells. Pure.
Failure Classify(const TrialEvidence& evidence);

// Why a result that claims success is none: another batch than the one asked for, fewer steps.
// Absent when it is one. Pure.
std::optional<Failure> CheckResult(const TrialSpec& asked, const Observation& result);

// What a user can do about a failure of this kind.
std::string AdviceFor(FailureKind kind);

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_CLASSIFY_H_
