#ifndef TESTS_SIM_ALARM_H_
#define TESTS_SIM_ALARM_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "tests/sim/process.h"
#include "tests/sim/virtual_time.h"

namespace autobatch::sim {

// What wakes a core on virtual time, as net's WakeTimer does in production. Belongs to the host of
// the process, and outlives it.
class Alarm {
 public:
  // Rings once at `when` in this process, and no more for any time set before. Absent: the last one
  // stays.
  void Set(Process& process, std::optional<SteadyTime> when, std::function<void()> ring) {
    if (!when.has_value() || when == when_) return;
    when_ = when;
    process.PostAt(*when, [this, when = *when, ring = std::move(ring)] {
      if (when_ != when) return;
      when_.reset();
      ring();
    });
  }

  // For another process.
  void Reset() { when_.reset(); }

 private:
  std::optional<SteadyTime> when_;
};

}  // namespace autobatch::sim

#endif  // TESTS_SIM_ALARM_H_
