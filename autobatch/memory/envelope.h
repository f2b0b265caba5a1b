#ifndef AUTOBATCH_MEMORY_ENVELOPE_H_
#define AUTOBATCH_MEMORY_ENVELOPE_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "autobatch/types/report.h"

namespace autobatch {

// One batch that ran, and the greatest bytes that its allocator reserved.
struct MemoryPoint {
  int64_t batch = 0;
  int64_t bytes = 0;
};

// Memory against batch as max(floor, intercept + slope * batch), give or take the band. A value:
//
//   absl::StatusOr<EnvelopeFit> fit = FitEnvelope(points);
//   if (fit.ok()) next = fit->LargestWithin(budget);  // else search by brackets
class EnvelopeFit {
 public:
  explicit EnvelopeFit(const FitSummary& summary) : summary_(summary) {}

  // Bytes at `batch` by the envelope, and by the upper edge of its band.
  double Expected(int64_t batch) const;
  double Upper(int64_t batch) const;

  // The largest batch whose upper edge is at most `bytes`; 0 when not even batch 1 is. It is not
  // capped: the caller knows how far beyond its largest point it trusts the line. INT64_MAX at
  // most.
  int64_t LargestWithin(int64_t bytes) const;

  // Numbers for the report and its plot.
  const FitSummary& Summary() const { return summary_; }

 private:
  FitSummary summary_;
};

// Fits the envelope to points in any order; of equal batches the largest bytes count. The slope is
// the larger of the least squares over the upper half and the last secant (memory bends upwards
// where an algorithm changes, and a line from below would promise too much), through the last
// point; the band is the largest residual of the upper half. Leading points that do not grow with
// the line are the floor.
//
// FailedPrecondition, whose message names the cause, when a line would mislead: fewer than two
// usable points, memory that does not grow or falls with the batch (something else held memory: a
// warm cache, another process), or a band too wide to tell batches apart. InvalidArgument on a
// batch below 1 or negative bytes.
absl::StatusOr<EnvelopeFit> FitEnvelope(std::span<const MemoryPoint> points);

}  // namespace autobatch

#endif  // AUTOBATCH_MEMORY_ENVELOPE_H_
