#include "autobatch/base/clock.h"

#include "absl/time/clock.h"

namespace autobatch {
namespace {

class RealClock final : public Clock {
 public:
  SteadyTime Now() const override { return std::chrono::steady_clock::now(); }
  absl::Time WallNow() const override { return absl::Now(); }
};

}  // namespace

SteadyTime Add(SteadyTime time, absl::Duration duration) {
  const absl::Duration room = absl::FromChrono(SteadyTime::max() - time);
  if (duration >= room) return SteadyTime::max();
  return time + absl::ToChronoNanoseconds(duration);
}

absl::Duration Between(SteadyTime earlier, SteadyTime later) {
  return absl::FromChrono(later - earlier);
}

const Clock& Clock::Real() {
  static const RealClock* const clock = new RealClock;
  return *clock;
}

}  // namespace autobatch
