#ifndef AUTOBATCH_REPORT_ENV_LINES_H_
#define AUTOBATCH_REPORT_ENV_LINES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/types/report.h"

namespace autobatch {

// The answer for a script: NAME=value lines for `eval` (or `set -a; source FILE` to export them).
//
//   AUTOBATCH_MICRO_BATCH=16    the node's minimum: safe on every device
//   AUTOBATCH_ACCUMULATION=1    micro-steps of one optimizer step
//   AUTOBATCH_WORLD_SIZE=2      devices of this node, one rank each
//   AUTOBATCH_GLOBAL_BATCH=32   micro-batch x accumulation x world size
//   AUTOBATCH_STATUS=confirmed  the least certain of the devices: confirmed, partial or estimated
//   AUTOBATCH_BATCH_0=16        what device 0 alone may load; its number is its place in the report
//   AUTOBATCH_DEVICE_0=GPU-…    its UUID
//   AUTOBATCH_SIMULATED=1       only where a device is simulated
//
// These are the names of what a launched training receives, as far as one node knows them: rank,
// run and record come from an agreement between nodes. FailedPrecondition, and no line at all, when
// a device has no safe batch: a script must not train on what is left of the environment.
absl::StatusOr<std::string> EnvLines(const NodeReport& report);

// One word of a POSIX shell that expands to `text`; unquoted when it is harmless.
std::string ShellQuote(absl::string_view text);

}  // namespace autobatch

#endif  // AUTOBATCH_REPORT_ENV_LINES_H_
