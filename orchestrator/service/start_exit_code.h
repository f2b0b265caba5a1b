#ifndef ORCHESTRATOR_SERVICE_START_EXIT_CODE_H_
#define ORCHESTRATOR_SERVICE_START_EXIT_CODE_H_

#include "absl/status/status.h"

namespace autobatch {

// The exit code of a coordinator, an agent or a launch that could not start, the same for all
// three: 2, wrong usage, where the user has to say or mend something (a flag, a file's rights, a
// port or a folder that another process has); 1 where the machine fails (a full disk, no memory).
int StartExitCode(const absl::Status& status);

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_START_EXIT_CODE_H_
