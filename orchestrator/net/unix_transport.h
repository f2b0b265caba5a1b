#ifndef ORCHESTRATOR_NET_UNIX_TRANSPORT_H_
#define ORCHESTRATOR_NET_UNIX_TRANSPORT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "orchestrator/net/connection.h"
#include "orchestrator/net/task_group.h"
#include "orchestrator/net/timers.h"

namespace autobatch {

// Frames over a Unix socket, between an agent and the workers of its own node. The kernel says who
// the peer is: Peer::address names its process and user.

// Listens on a path that only this user may connect to, or everybody on the node with
// `any_user` (the agent runs as root, the job as its user). A socket that a dead process left is
// replaced. AlreadyExists: somebody answers there; InvalidArgument: the path is too long (107
// bytes is the kernel's limit).
absl::StatusOr<std::unique_ptr<Listener>> ListenUnix(TaskGroup& tasks, Timers& timers,
                                                     const std::string& path, bool any_user);

// NotFound: no socket there; Unavailable: nobody answers.
boost::asio::awaitable<absl::StatusOr<std::unique_ptr<Connection>>> ConnectUnix(TaskGroup& tasks,
                                                                                Timers& timers,
                                                                                std::string path);

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_UNIX_TRANSPORT_H_
