#ifndef ORCHESTRATOR_CORE_EXIT_CODES_H_
#define ORCHESTRATOR_CORE_EXIT_CODES_H_

#include "autobatch/probe/node_summary.h"

namespace autobatch {

// Exit codes of the cluster's programs, beside those of a probe.
inline constexpr int kExitNoAgreement = 7;  // The round was aborted, or answers differ.
inline constexpr int kExitPeerLost = 8;     // The coordinator is gone, or too many agents are.
inline constexpr int kExitNotAuthorised = 9;

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_EXIT_CODES_H_
