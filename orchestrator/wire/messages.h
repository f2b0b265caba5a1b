#ifndef ORCHESTRATOR_WIRE_MESSAGES_H_
#define ORCHESTRATOR_WIRE_MESSAGES_H_

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/wire/agent_messages.h"
#include "orchestrator/wire/coordinator_messages.h"
#include "orchestrator/wire/frame.h"

namespace autobatch {

// Whatever travels between an agent and the coordinator. Every message names its run and its
// round; a round is 0 where the sender knows of none yet. On the wire it is a frame whose payload
// is the struct's JSON: fields that the receiver does not know are ignored, and those that the
// sender did not know keep their default. New values of an enum need a new protocol version.
using Message = std::variant<AgentHello, Report, Heartbeat, ReduceId, ReduceResult, Prepared,
                             Committed, Leave, Welcome, Progress, Collect, Reduce, Grants, Prepare,
                             Commit, Abort, Refuse, HeartbeatAck>;

// "hello", "reduce_result", …: for logs and errors.
absl::string_view MessageName(const Message& message);

const std::string& RunIdOf(const Message& message);
int64_t RoundOf(const Message& message);

// Whether it is one that agents send; the others are the coordinator's.
bool IsFromAgent(const Message& message);

// The frame of a message. Texts for people that are longer than the rules allow are cut; nothing
// else is mended: InvalidArgument if the message breaks the rules of message_rules.h.
absl::StatusOr<Frame> EncodeMessage(Message message);

// The message of a frame, valid by message_rules.h. Errors, each naming what was found and what
// was expected:
//   FailedPrecondition  a frame of another protocol version: both are named;
//   Unimplemented       a type that this version does not know;
//   InvalidArgument     not the JSON of its type, or a value that breaks the rules.
absl::StatusOr<Message> DecodeMessage(const Frame& frame);

// How to refuse the sender of a frame that gave this error.
Refuse RefusalOf(const absl::Status& error);

}  // namespace autobatch

#endif  // ORCHESTRATOR_WIRE_MESSAGES_H_
