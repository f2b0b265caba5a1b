#ifndef ORCHESTRATOR_CORE_LIVENESS_H_
#define ORCHESTRATOR_CORE_LIVENESS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "autobatch/base/clock.h"

namespace autobatch {

// Beats of one's own clock. However late one comes to look, at most one beat has passed: who was
// stopped for a minute does not take its peers for dead because it did not read what they sent.
class Metronome {
 public:
  Metronome(absl::Duration interval, SteadyTime now)
      : interval_(interval), next_(Add(now, interval)) {}

  // Whether a beat has passed since the last call.
  bool Beat(SteadyTime now) {
    if (now < next_) return false;
    next_ = Add(now, interval_);
    return true;
  }

  SteadyTime next() const { return next_; }
  absl::Duration interval() const { return interval_; }

 private:
  absl::Duration interval_;
  SteadyTime next_;
};

// Whether a peer lives, by a counter that it raises; whose clock says what does not matter.
class Liveness {
 public:
  // The peer said this number. Only a higher one than before is progress: what was on its way for
  // long, or comes twice, is none.
  void Heard(int64_t sequence) {
    if (sequence <= highest_) return;
    highest_ = sequence;
    silent_ = 0;
  }

  // One beat of our own; returns how many have passed without progress.
  int64_t Beat() { return ++silent_; }

  int64_t silent() const { return silent_; }

  // The peer has begun to count anew, on a new connection.
  void Restart() { *this = Liveness(); }

 private:
  int64_t highest_ = 0;
  int64_t silent_ = 0;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_LIVENESS_H_
