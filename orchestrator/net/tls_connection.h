#ifndef ORCHESTRATOR_NET_TLS_CONNECTION_H_
#define ORCHESTRATOR_NET_TLS_CONNECTION_H_

#include <memory>

#include "autobatch/base/clock.h"
#include "orchestrator/net/connection.h"
#include "orchestrator/net/stream_limits.h"
#include "orchestrator/net/task_group.h"
#include "orchestrator/net/timers.h"
#include "orchestrator/net/tls_context.h"

namespace autobatch {

// Frames over a TLS stream whose handshake is done. `context` is kept as long as the stream. The
// first frame must be there by `first_frame`, unless the peer is admitted before.
std::unique_ptr<Connection> MakeTlsConnection(TaskGroup& tasks, Timers& timers,
                                              std::shared_ptr<TlsContext> context,
                                              std::unique_ptr<TlsStream> stream, Peer peer,
                                              StreamLimits limits, SteadyTime first_frame);

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_TLS_CONNECTION_H_
