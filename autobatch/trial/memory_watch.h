#ifndef AUTOBATCH_TRIAL_MEMORY_WATCH_H_
#define AUTOBATCH_TRIAL_MEMORY_WATCH_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"

namespace autobatch {

// Readings of a running command's memory -> its peak, and whether that had settled. Pure.
class MemoryWatch {
 public:
  // `since_start` does not decrease.
  void Add(absl::Duration since_start, int64_t bytes);

  // A peak that is known, but not when it was.
  void AddPeak(int64_t bytes) { peak_ = std::max(peak_, bytes); }

  int64_t readings() const { return readings_; }
  // 0 before the first reading.
  int64_t peak_bytes() const { return peak_; }

  // In both halves of the last quarter of its time the peak grew by more than 1 %: more steps may
  // need more. The program's own end is left out, where destructors touch what no step did. False
  // of a run too short to tell.
  bool StillGrew() const;

 private:
  struct Rise {
    absl::Duration at;
    int64_t peak = 0;
  };
  // The peak at this time.
  int64_t PeakAt(absl::Duration time) const;

  int64_t peak_ = 0;
  int64_t readings_ = 0;
  absl::Duration last_;
  // Each at least 0.1 % above the one before, so that even a leak makes a few thousand at most.
  std::vector<Rise> rises_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_MEMORY_WATCH_H_
