#ifndef AUTOBATCH_TRIAL_COMMAND_VERDICT_H_
#define AUTOBATCH_TRIAL_COMMAND_VERDICT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "autobatch/trial/classify.h"
#include "autobatch/types/failure.h"

namespace autobatch {

// All that is known of a command that gave no result, once it is gone.
struct CommandEvidence {
  TrialEvidence trial;
  // It was ended for the memory that it held.
  bool over_budget = false;
  int64_t peak_bytes = 0;
  std::optional<int64_t> budget_bytes;
  // Allocations that the observer saw refused, and the size of the last one.
  int64_t refusals = 0;
  int64_t refused_bytes = 0;
  // Out-of-memory errors that the observer saw reach the command's Python.
  int64_t python_errors = 0;
  // Nothing of a GPU was used, as far as observer and driver saw.
  bool untouched = false;
  // The GPU is: it computes no values.
  bool simulated = false;
};

// It exited with code 0, by itself.
bool ExitedWell(const TrialEvidence& evidence);

// Why the trial of `command` (with its placeholders) failed; absent when it ran. What Classify says
// of any child, and what can only be wrong with a user's own: it needs no result, but must take the
// batch and end by itself. Pure.
std::optional<Failure> JudgeCommand(const CommandEvidence& evidence,
                                    std::span<const std::string> command);

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_COMMAND_VERDICT_H_
