#ifndef ORCHESTRATOR_NET_CONNECTION_H_
#define ORCHESTRATOR_NET_CONNECTION_H_

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "autobatch/base/clock.h"
#include "orchestrator/net/address.h"
#include "orchestrator/wire/frame.h"

namespace autobatch {

// The bytes of a frame, shared by all connections that send it (see Encode() in wire/frame.h).
using SharedBytes = std::shared_ptr<const std::string>;

// The other end of a connection.
struct Peer {
  // "10.0.0.3:41234", "[fd00::3]:41234", "unix:pid 4711, user 1000", "memory:3".
  std::string address;
  // What it proved: the run id of the shared secret, or the name in its certificate; empty on a
  // Unix socket, where the kernel says who it is.
  std::string identity;
};

// One authenticated stream of frames. Everything runs on the one thread of its executor. The
// destructor closes at once; a coroutine still in Receive() ends with Cancelled.
class Connection {
 public:
  virtual ~Connection() = default;

  virtual const Peer& peer() const = 0;

  // Puts a frame, or several in one, into the bounded queue of this connection, and never waits: a
  // peer that does not read delays nobody else. ResourceExhausted: the queue is full, and the peer
  // was dropped for it; otherwise why the connection is closed.
  virtual absl::Status Send(SharedBytes frame) = 0;

  // The next frame; one call at a time. OutOfRange: the peer closed the connection in order.
  // DataLoss: the stream was cut short. DeadlineExceeded: a stranger sent nothing in time, or this
  // peer did not read what was sent. InvalidArgument, ResourceExhausted: it does not keep to the
  // protocol. PermissionDenied: it refuses us. Unavailable: the network failed. Cancelled: closed
  // on this side. After any of these the connection is closed.
  virtual boost::asio::awaitable<absl::StatusOr<Frame>> Receive() = 0;

  // The peer's hello was accepted: larger payloads from now on, and no deadline for its next frame.
  // Until then the first frame must be there within the deadline of the handshake.
  virtual void Admit() = 0;

  // Sends what is queued, says good-bye, closes. DeadlineExceeded: it was not all sent by then.
  virtual boost::asio::awaitable<absl::Status> Finish(SteadyTime deadline) = 0;

  // At once, whatever is queued. A pending Receive() ends with `why`, later calls too.
  virtual void Close(absl::Status why) = 0;
};

// Where peers arrive. Its destructor closes it.
class Listener {
 public:
  virtual ~Listener() = default;

  // The next peer that has authenticated itself; one call at a time. Whoever fails to is turned
  // away unseen, logged and counted. Before the first call nobody is let in, and all wait.
  // Cancelled: the listener was closed.
  virtual boost::asio::awaitable<absl::StatusOr<std::unique_ptr<Connection>>> Accept() = 0;

  // Where it really listens, the port that was chosen included.
  virtual const HostPort& address() const = 0;

  // No new peers; handshakes under way are given up. Connections stay.
  virtual void Close() = 0;
};

// How to get to a listener.
class Connector {
 public:
  virtual ~Connector() = default;

  // Tries every address that the names stand for, until one answers and both sides have proved who
  // they are; all within the deadline. PermissionDenied: the other side refuses us, or is not who
  // it should be; trying again is no use. Otherwise Unavailable or DeadlineExceeded, with what was
  // wrong with each address.
  virtual boost::asio::awaitable<absl::StatusOr<std::unique_ptr<Connection>>> Connect(
      std::vector<HostPort> addresses, SteadyTime deadline) = 0;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_CONNECTION_H_
