#ifndef ORCHESTRATOR_WIRE_WHOLE_MESSAGE_H_
#define ORCHESTRATOR_WIRE_WHOLE_MESSAGE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/wire/messages.h"

namespace autobatch {

// For tests that look at what somebody sends: the message of bytes that are one frame of a member.
// Errors of FrameDecoder and DecodeMessage(); InvalidArgument where the bytes are less or more.
absl::StatusOr<Message> WholeMessage(absl::string_view bytes);

}  // namespace autobatch

#endif  // ORCHESTRATOR_WIRE_WHOLE_MESSAGE_H_
