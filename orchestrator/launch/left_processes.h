#ifndef ORCHESTRATOR_LAUNCH_LEFT_PROCESSES_H_
#define ORCHESTRATOR_LAUNCH_LEFT_PROCESSES_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace autobatch {

// Ends every child of this process, adopted ones included, that has `mark` ("NAME=value") in its
// environment: SIGTERM, and after the grace SIGKILL, round by round, since a child that ends leaves
// its own children to a subreaper. Helpers of an interpreter that end by themselves within half a
// second do not count. Returns the names of the others, "python (pid 7)", at most 16.
std::vector<std::string> EndLeftProcesses(const std::string& mark, absl::Duration grace);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_LEFT_PROCESSES_H_
