#include "orchestrator/net/send_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace autobatch {

absl::Status SendQueue::Push(SharedBytes frame) {
  if (frames_.size() >= limits_.queue_frames || frame->size() > limits_.queue_bytes - bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat("the peer does not read: ", frames_.size(),
                                                     " frames of ", bytes_,
                                                     " bytes wait to be sent to it"));
  }
  bytes_ += frame->size();
  frames_.push_back(std::move(frame));
  return absl::OkStatus();
}

SharedBytes SendQueue::Pop() {
  SharedBytes frame = std::move(frames_.front());
  frames_.pop_front();
  bytes_ -= frame->size();
  return frame;
}

void SendQueue::Clear() {
  frames_.clear();
  bytes_ = 0;
}

}  // namespace autobatch
