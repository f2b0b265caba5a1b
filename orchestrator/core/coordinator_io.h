#ifndef ORCHESTRATOR_CORE_COORDINATOR_IO_H_
#define ORCHESTRATOR_CORE_COORDINATOR_IO_H_

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orchestrator/core/coordinator_state.h"
#include "orchestrator/plan/device_outcome.h"
#include "orchestrator/wire/messages.h"

namespace autobatch {

// The shell's number of a connection; never used twice.
using ConnectionId = int64_t;

// What happens to a coordinator.
namespace coordinator {

// An authenticated peer is there; it has said nothing yet.
struct Connected {
  ConnectionId connection = 0;
  // Of the peer, for people: "10.0.0.3:41234".
  std::string address;
};

// DecodeMessage() of a frame, its error included.
struct Received {
  ConnectionId connection = 0;
  absl::StatusOr<Message> message;
};

// The connection is closed, by whomever. Not due after a Close action, harmless if it comes.
struct Disconnected {
  ConnectionId connection = 0;
  std::string why;
  // It was closed because the peer sent what is no frame, or too large a one.
  bool broke_protocol = false;
};

// NextWake() has come.
struct Woke {};

// A Persist action is done.
struct Persisted {
  int64_t sequence = 0;
  absl::Status status;
};

// The coordinator was asked to leave (a signal), and would like to do so with this exit code.
struct Drain {
  std::string reason;
  int exit_code = 0;
};

// What a coordinator wants done, in this order. ----

// Frames to one connection keep their order. A frame for many is one string.
struct Send {
  ConnectionId connection = 0;
  std::shared_ptr<const std::string> frame;
};

// After what was sent before it is out, or cannot be.
struct Close {
  ConnectionId connection = 0;
  std::string why;
};

// Put the state on the disk, atomically and durably, then say Persisted. One after the other.
struct Persist {
  int64_t sequence = 0;
  CoordinatorState state;
};

// What Persist will ask for if all goes well: may be put on the disk beside the state, so that the
// change is a rename. Means nothing before that.
struct Foresee {
  CoordinatorState state;
};

// A line for the log and the terminal. Names in it come from peers; their characters are checked.
struct Say {
  std::string text;
};

// A round is over, or its commit is out.
struct RoundEnded {
  int64_t round = 0;
  bool committed = false;
  std::string digest;
  // The record's text, if committed.
  std::shared_ptr<const std::string> record;
  // Why it was not committed, and who was waited for.
  std::string reason;
  std::vector<std::string> missing;
  // What everybody reported, if it got so far: for the straggler report.
  std::vector<NodeOutcomes> nodes;
};

// Every member of the committed round has confirmed it, or the time for it was up.
struct CommitConfirmed {
  int64_t round = 0;
  std::vector<std::string> confirmed;
  std::vector<std::string> missing;
};

// The run is over; nothing follows.
struct Finished {
  // Of design's table: 0 done, 4 nothing fits, 7 no agreement, 8 peer lost, …
  int exit_code = 0;
  std::string text;
};

}  // namespace coordinator

using CoordinatorEvent =
    std::variant<coordinator::Connected, coordinator::Received, coordinator::Disconnected,
                 coordinator::Woke, coordinator::Persisted, coordinator::Drain>;

using CoordinatorAction =
    std::variant<coordinator::Send, coordinator::Close, coordinator::Persist, coordinator::Foresee,
                 coordinator::Say, coordinator::RoundEnded, coordinator::CommitConfirmed,
                 coordinator::Finished>;

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_COORDINATOR_IO_H_
