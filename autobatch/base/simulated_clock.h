#ifndef AUTOBATCH_BASE_SIMULATED_CLOCK_H_
#define AUTOBATCH_BASE_SIMULATED_CLOCK_H_

#include "absl/time/time.h"
#include "autobatch/base/clock.h"
#include "autobatch/base/mutex.h"

namespace autobatch {

// A clock that moves only when a test moves it; steady and wall time move apart on demand.
class SimulatedClock final : public Clock {
 public:
  SteadyTime Now() const override {
    MutexLock lock(mutex_);
    return steady_;
  }
  absl::Time WallNow() const override {
    MutexLock lock(mutex_);
    return wall_;
  }
  // Moves both clocks forward.
  void Advance(absl::Duration by) {
    MutexLock lock(mutex_);
    steady_ = Add(steady_, by);
    wall_ += by;
  }
  // What an operator with `date -s` does: the steady clock stays.
  void JumpWall(absl::Duration by) {
    MutexLock lock(mutex_);
    wall_ += by;
  }

 private:
  mutable Mutex mutex_;
  SteadyTime steady_ ABSL_GUARDED_BY(mutex_){std::chrono::hours(1)};
  absl::Time wall_ ABSL_GUARDED_BY(mutex_) = absl::UnixEpoch();
};

}  // namespace autobatch

#endif  // AUTOBATCH_BASE_SIMULATED_CLOCK_H_
