#ifndef ORCHESTRATOR_CORE_OUTGOING_H_
#define ORCHESTRATOR_CORE_OUTGOING_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/wire/frame.h"
#include "orchestrator/wire/messages.h"

namespace autobatch {

// The bytes of a message, once for all who are sent it. Errors as those of EncodeMessage and
// EncodeFrame: only what is too large.
inline absl::StatusOr<std::shared_ptr<const std::string>> BytesOf(Message message) {
  AB_ASSIGN_OR_RETURN(const Frame frame, EncodeMessage(std::move(message)));
  AB_ASSIGN_OR_RETURN(std::string bytes, EncodeFrame(frame));
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_OUTGOING_H_
