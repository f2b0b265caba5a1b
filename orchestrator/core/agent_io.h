#ifndef ORCHESTRATOR_CORE_AGENT_IO_H_
#define ORCHESTRATOR_CORE_AGENT_IO_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "orchestrator/plan/device_outcome.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/plan/record.h"
#include "orchestrator/wire/messages.h"

namespace autobatch {

// What happens to an agent.
namespace agent {

// A Connect action succeeded: the coordinator has authenticated itself.
struct Connected {};

// It failed. PermissionDenied: trying again is no use.
struct ConnectFailed {
  absl::Status status;
};

// DecodeMessage() of a frame, its error included.
struct Received {
  absl::StatusOr<Message> message;
};

// The connection is closed. Not due after a Disconnect action, harmless if it comes at once.
struct Disconnected {
  std::string why;
};

// NextWake() has come.
struct Woke {};

// The answer to the last Probe. Devices with batch 0 say why.
struct Probed {
  std::vector<DeviceOutcome> devices;
  // Held back for communicators while these batches were confirmed.
  std::optional<int64_t> communicator_bytes;
  std::string summary;
};

// The answer to a MakeReduceId.
struct ReduceIdMade {
  int64_t attempt = 0;
  absl::StatusOr<std::string> unique_id;
};

// The answer to a StartReduce.
struct Reduced {
  int64_t attempt = 0;
  absl::StatusOr<int64_t> minimum;
  // The most that any device gave to its communicator.
  std::optional<int64_t> communicator_bytes;
};

// The answers to WritePrepared and WriteCommitted.
struct PreparedWritten {
  int64_t round = 0;
  absl::Status status;
};
struct CommittedWritten {
  int64_t round = 0;
  absl::Status status;
};

// The agent is to leave. `done`: its job has ended well, not a loss for the others.
struct Drain {
  std::string reason;
  bool done = false;
  int exit_code = 0;
};

// What an agent wants done, in this order. ----

// Connect after `delay`. One connection at a time.
struct Connect {
  absl::Duration delay;
};

// After what was sent before it is out, or cannot be. A pending Connect is called off.
struct Disconnect {
  std::string why;
};

struct Send {
  std::shared_ptr<const std::string> frame;
};

// Answer with Probed: from what is known where nothing has changed, else by probing. Never asked
// again before it is answered.
struct Probe {
  int64_t round = 0;
  // Hold back at least so much for communicators.
  std::optional<int64_t> communicator_bytes;
};

// Make an id for a reduction and keep it alive until the attempt ends.
struct MakeReduceId {
  int64_t attempt = 0;
};

// Take part with every device whose batch is above 0, in the order of the report.
struct StartReduce {
  int64_t attempt = 0;
  std::string unique_id;
  int64_t rank_base = 0;
  int64_t world = 0;
};

// The attempt is over: end what still runs of it.
struct EndReduce {};

// Put the record on the disk where nobody starts on it yet; the record before it is withdrawn.
struct WritePrepared {
  int64_t round = 0;
  std::string digest;
  std::shared_ptr<const std::string> record;
  // What the checker made of it.
  std::shared_ptr<const Record> content;
  // What this node's devices may load, where that differs between devices; mostly empty.
  std::vector<DeviceShare> shares;
};

// Make the prepared record the one that training starts on.
struct WriteCommitted {
  int64_t round = 0;
  std::string digest;
};

// Take away the record, prepared or committed: nothing may start on it any more.
struct WithdrawRecord {
  int64_t round = 0;
  std::string why;
};

// What trains on an earlier record must be ended before the next action: its world is gone.
struct StopTraining {
  std::string why;
};

struct Say {
  std::string text;
};

// The agent is over; nothing follows. What trains goes on; a committed record stays where the exit
// code is 0, else it was withdrawn.
struct Finished {
  // Of design's table: 0 done, 7 no agreement, 8 peer lost, 9 not authorised, …
  int exit_code = 0;
  std::string text;
};

}  // namespace agent

using AgentEvent =
    std::variant<agent::Connected, agent::ConnectFailed, agent::Received, agent::Disconnected,
                 agent::Woke, agent::Probed, agent::ReduceIdMade, agent::Reduced,
                 agent::PreparedWritten, agent::CommittedWritten, agent::Drain>;

using AgentAction =
    std::variant<agent::Connect, agent::Disconnect, agent::Send, agent::Probe, agent::MakeReduceId,
                 agent::StartReduce, agent::EndReduce, agent::WritePrepared, agent::WriteCommitted,
                 agent::WithdrawRecord, agent::StopTraining, agent::Say, agent::Finished>;

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_AGENT_IO_H_
