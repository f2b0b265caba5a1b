#ifndef ORCHESTRATOR_NET_CONNECT_ANY_H_
#define ORCHESTRATOR_NET_CONNECT_ANY_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "orchestrator/net/task_group.h"
#include "orchestrator/net/timers.h"

namespace autobatch {

// The first of the addresses that answers: they are tried in order, the next one beside those that
// have not answered within `delay`, or as soon as one has failed (RFC 8305). The others are given
// up. Unavailable: none did, and why each did not. Ends when it is cancelled; a deadline is put
// around it. At least one endpoint.
boost::asio::awaitable<absl::StatusOr<boost::asio::ip::tcp::socket>> ConnectAny(
    TaskGroup& tasks, Timers& timers, std::vector<boost::asio::ip::tcp::endpoint> endpoints,
    absl::Duration delay);

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_CONNECT_ANY_H_
