#ifndef AUTOBATCH_TRIAL_COMMAND_OBSERVATION_H_
#define AUTOBATCH_TRIAL_COMMAND_OBSERVATION_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autobatch/trial/command_memory.h"
#include "autobatch/trial/observer_file.h"
#include "autobatch/types/failure.h"
#include "autobatch/types/observation.h"
#include "autobatch/types/protocol.h"

namespace autobatch {

// What a command seen from outside reports as its method.
inline constexpr char kDriverMethod[] = "driver";
// And where the observer was in it.
inline constexpr char kObserverMethod[] = "observer";

// The observation of one device of a command whose ranks there measured themselves: what they
// `told`, held against what was asked, with what only the parent knows.
Observation SelfMeasured(const TrialSpec& asked, const Observation& told,
                         const CommandMemory& memory);

// The observation of one device that nobody spoke of: the memory that was seen there. `steps` and
// `hello`: what was said before. `failure`: why the trial has no result, if it should have one.
Observation Watched(const CommandMemory& memory, const std::vector<StepObservation>& steps,
                    const std::optional<Hello>& hello, const std::optional<Failure>& failure);

// Whether memory still grew in the last step of `device` (the observer's `index`-th; it is null
// where nothing observes).
void JudgeGrowth(const ObserverFile* observer, size_t index, const TrialSpec& trial,
                 std::span<const std::string> command, Observation& device);

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_COMMAND_OBSERVATION_H_
