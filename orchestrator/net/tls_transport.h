#ifndef ORCHESTRATOR_NET_TLS_TRANSPORT_H_
#define ORCHESTRATOR_NET_TLS_TRANSPORT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "orchestrator/net/address.h"
#include "orchestrator/net/connection.h"
#include "orchestrator/net/credentials.h"
#include "orchestrator/net/resolver.h"
#include "orchestrator/net/stream_limits.h"
#include "orchestrator/net/task_group.h"
#include "orchestrator/net/timers.h"

namespace autobatch {

// Frames over TLS 1.3 over TCP, by Asio. All coroutines run in the task group that is handed in,
// and must be cancelled and joined with it before the io_context ends; tasks and timers outlive
// what is made here.

// Places at the gate of a run of so many nodes: all of them come at once, and who is put off until
// others are through idles meanwhile.
inline size_t HandshakesFor(int64_t nodes) {
  return static_cast<size_t>(std::clamp<int64_t>(nodes, 256, 4096));
}

struct TlsListenOptions {
  // One address to bind to, or "::" / "0.0.0.0" for all. "::" takes IPv4 too.
  std::string bind_address = "::";
  // The first free port of it.
  PortRange ports;
  // From the TCP connection to the end of the TLS handshake, and again to the first frame: in all,
  // however the bytes trickle.
  absl::Duration handshake_timeout = absl::Seconds(10);
  // Handshakes at a time, over all addresses. Where more come, the rest wait in the backlog, and
  // the oldest of the address that holds most makes room once it is older than `patience`.
  size_t handshakes = HandshakesFor(0);
  absl::Duration patience = absl::Seconds(3);
  StreamLimits stream;
  // Where lines about refused peers go; empty: the log. They are escaped and rate-limited.
  std::function<void(absl::string_view)> log;
};

// Starts listening. AlreadyExists: the ports are in use (by whom, where it can be known, and what
// to do); InvalidArgument: no such address, or credentials that cannot be used; PermissionDenied.
absl::StatusOr<std::unique_ptr<Listener>> ListenTls(TaskGroup& tasks, Timers& timers,
                                                    const Credentials& credentials,
                                                    TlsListenOptions options);

struct TlsConnectOptions {
  Role role = Role::kAgent;
  StreamLimits stream;
  // Whoever connects sends at once: the end of the handshake leaves with that, and the peer learns
  // of the connection no earlier.
  bool speaks_first = false;
  // Until the next address is tried beside the one that has not answered yet (RFC 8305).
  absl::Duration attempt_delay = absl::Milliseconds(250);
  // Null: the system's.
  std::shared_ptr<Resolver> resolver;
};

absl::StatusOr<std::unique_ptr<Connector>> MakeTlsConnector(TaskGroup& tasks, Timers& timers,
                                                            const Credentials& credentials,
                                                            TlsConnectOptions options = {});

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_TLS_TRANSPORT_H_
