#ifndef ORCHESTRATOR_SERVICE_ASK_AGENT_H_
#define ORCHESTRATOR_SERVICE_ASK_AGENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "autobatch/base/clock.h"
#include "orchestrator/service/worker_request.h"

namespace autobatch {

// Asks the agent behind the Unix socket at `path` for this process's share and blocks until it
// answers or `deadline` passes; a socket that is not there yet, or nobody listens on, is tried
// again until then (an agent may start after its workers). `request.wait_ms` is set to the time
// that is left.
//
// A reply may well hold no share: see its verdict. DeadlineExceeded: no answer in time, with what
// was seen last (no such socket, refused, connected but silent). InvalidArgument: the path is too
// long for a socket. PermissionDenied: the socket belongs to another user. DataLoss: what answered
// is no agent.
absl::StatusOr<WorkerReply> AskAgent(const std::string& path, WorkerRequest request,
                                     SteadyTime deadline);

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_ASK_AGENT_H_
