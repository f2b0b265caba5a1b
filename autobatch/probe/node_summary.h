#ifndef AUTOBATCH_PROBE_NODE_SUMMARY_H_
#define AUTOBATCH_PROBE_NODE_SUMMARY_H_

#include <cstdint>

#include "autobatch/probe/probe_spec.h"
#include "autobatch/types/report.h"

namespace autobatch {

// Exit codes of the programs.
inline constexpr int kExitOk = 0;
inline constexpr int kExitInternal = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNoDevice = 3;
inline constexpr int kExitNothingFits = 4;
inline constexpr int kExitCannotRun = 5;
inline constexpr int kExitTimeLimit = 6;
inline constexpr int kExitSignal = 128;  // + the signal's number.

// Fills in what follows from the devices' results: the minimum, the device that set it, the minimum
// without it, warnings about the data set's last batch, and the exit code. One device without a
// batch leaves the node without a minimum: no GPU is left out of the answer.
void Summarize(const ProbeSpec& spec, NodeReport& report);

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_NODE_SUMMARY_H_
