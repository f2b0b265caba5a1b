#include "autobatch/trial/memory_watch.h"

namespace autobatch {
namespace {

constexpr double kNoticed = 1.001;
constexpr double kGrown = 1.01;
// Of the time: what a program does once it has trained.
constexpr double kEnding = 1.0 / 16;
// With fewer a rise cannot be placed in the run.
constexpr int64_t kLeastReadings = 24;

}  // namespace

void MemoryWatch::Add(absl::Duration since_start, int64_t bytes) {
  ++readings_;
  last_ = since_start;
  peak_ = std::max(peak_, bytes);
  if (bytes <= 0) return;
  if (rises_.empty() || static_cast<double>(bytes) > kNoticed * rises_.back().peak) {
    rises_.push_back({since_start, bytes});
  }
}

int64_t MemoryWatch::PeakAt(absl::Duration time) const {
  int64_t peak = 0;
  for (const Rise& rise : rises_) {
    if (rise.at > time) break;
    peak = rise.peak;
  }
  return peak;
}

bool MemoryWatch::StillGrew() const {
  if (readings_ < kLeastReadings) return false;
  const absl::Duration trained = last_ * (1 - kEnding);
  const int64_t before = PeakAt(trained * 0.75);
  const int64_t middle = PeakAt(trained * 0.875);
  const int64_t end = PeakAt(trained);
  return static_cast<double>(middle) > kGrown * before &&
         static_cast<double>(end) > kGrown * middle;
}

}  // namespace autobatch
