#ifndef ORCHESTRATOR_LAUNCH_COMMAND_PREFIX_H_
#define ORCHESTRATOR_LAUNCH_COMMAND_PREFIX_H_

#include <cstddef>
#include <span>
#include <string>

#include "orchestrator/dialect/environment.h"

namespace autobatch {

// How many words in front of a command only prepare for it: `env` with its options and variables,
// nohup, setsid, nice. Variables that env sets or takes away are so in `environment` afterwards. 0:
// the command begins with its first word, or is all prefix, or one that is not understood.
size_t WordsOfPrefix(std::span<const std::string> command, Environment& environment);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_COMMAND_PREFIX_H_
