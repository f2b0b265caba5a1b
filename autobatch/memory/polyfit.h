#ifndef AUTOBATCH_MEMORY_POLYFIT_H_
#define AUTOBATCH_MEMORY_POLYFIT_H_

#include <span>

#include "absl/status/statusor.h"

namespace autobatch {

// intercept + slope * x.
struct Line {
  double slope = 0;
  double intercept = 0;

  // By Horner's rule from zero, so that an infinite x gives NaN, as numpy.polyval does.
  double At(double x) const { return (0.0 * x + slope) * x + intercept; }
};

// What numpy.polyfit answers for degree 1: least squares on columns scaled to length one, by the
// pseudo-inverse with a relative cut-off of x.size() * epsilon. One point, or points of one x, thus
// give the shortest solution in the scaled columns, not an error. A y that is not finite gives NaN.
//
// InvalidArgument with numpy's words: no points, sizes that differ, or an x column that cannot be
// scaled (all x zero, or not finite).
absl::StatusOr<Line> FitLine(std::span<const double> x, std::span<const double> y);

}  // namespace autobatch

#endif  // AUTOBATCH_MEMORY_POLYFIT_H_
