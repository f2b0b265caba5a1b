#include "orchestrator/wire/whole_message.h"

#include <optional>

#include "absl/status/status.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/wire/frame.h"

namespace autobatch {

absl::StatusOr<Message> WholeMessage(absl::string_view bytes) {
  FrameDecoder decoder(kMemberPayloadLimit);
  AB_ASSIGN_OR_RETURN(const std::optional<Frame> frame, decoder.Next(bytes));
  if (!frame.has_value() || !bytes.empty()) {
    return absl::InvalidArgumentError("these bytes are not one frame");
  }
  return DecodeMessage(*frame);
}

}  // namespace autobatch
