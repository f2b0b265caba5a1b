#ifndef ORCHESTRATOR_NET_STREAM_LIMITS_H_
#define ORCHESTRATOR_NET_STREAM_LIMITS_H_

#include <cstddef>

#include "absl/time/time.h"
#include "orchestrator/wire/frame.h"

namespace autobatch {

// What one connection may cost.
struct StreamLimits {
  // A peer that takes nothing for so long is dropped; as long as a silent member is waited for.
  absl::Duration send_timeout = absl::Seconds(5);
  // What may be queued for one peer: two records of the largest size, and small talk.
  size_t queue_bytes = size_t{2} * kMemberPayloadLimit + (size_t{64} << 10);
  size_t queue_frames = 1024;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_STREAM_LIMITS_H_
