#ifndef ORCHESTRATOR_NET_SEND_QUEUE_H_
#define ORCHESTRATOR_NET_SEND_QUEUE_H_

#include <cstddef>
#include <list>

#include "absl/status/status.h"
#include "orchestrator/net/connection.h"
#include "orchestrator/net/stream_limits.h"

namespace autobatch {

// What waits to be written to one peer, within bounds.
class SendQueue {
 public:
  explicit SendQueue(const StreamLimits& limits) : limits_(limits) {}

  // ResourceExhausted: it would hold more frames or bytes than the limits allow; nothing changed.
  absl::Status Push(SharedBytes frame);

  // The next frame to write; the queue is not empty.
  SharedBytes Pop();

  bool empty() const { return frames_.empty(); }
  void Clear();

 private:
  StreamLimits limits_;
  std::list<SharedBytes> frames_;
  size_t bytes_ = 0;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_SEND_QUEUE_H_
