#ifndef AUTOBATCH_SEARCH_USUAL_CURVE_H_
#define AUTOBATCH_SEARCH_USUAL_CURVE_H_

#include <cstdint>

#include "autobatch/base/units.h"
#include "autobatch/search/fake_curve.h"
#include "autobatch/search/search.h"

// The curve that most tests of the search start from, and a search without margins.
namespace autobatch {

// 1 GiB and 100 MiB a sample in 8 GiB: 71 fit.
inline constexpr int64_t kFits = 71;

inline FakeCurve::Options Line() {
  FakeCurve::Options curve;
  curve.intercept_bytes = kGiB;
  curve.slope_bytes = 100 * kMiB;
  curve.free_bytes = 8 * kGiB;
  return curve;
}

inline SearchOptions Plain() {
  SearchOptions options;
  options.budget.device = DeviceKind::kCpu;
  options.budget.headroom_bytes = 0;
  return options;
}

}  // namespace autobatch

#endif  // AUTOBATCH_SEARCH_USUAL_CURVE_H_
