#ifndef TESTS_SIM_STREAM_H_
#define TESTS_SIM_STREAM_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/wire/frame.h"
#include "orchestrator/wire/messages.h"

namespace autobatch::sim {

// Bytes of a connection to messages, by the production decoders. After bytes that are no frames it
// says so once and is deaf.
class Stream {
 public:
  void Feed(absl::string_view bytes,
            const std::function<void(absl::StatusOr<Message>)>& on_message) {
    while (!broken_ && !bytes.empty()) {
      const absl::StatusOr<std::optional<Frame>> frame = decoder_.Next(bytes);
      if (!frame.ok()) {
        broken_ = true;
        on_message(frame.status());
      } else if (frame->has_value()) {
        on_message(DecodeMessage(**frame));
      }
    }
  }

 private:
  FrameDecoder decoder_{kMemberPayloadLimit};
  bool broken_ = false;
};

}  // namespace autobatch::sim

#endif  // TESTS_SIM_STREAM_H_
