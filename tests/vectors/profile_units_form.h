#ifndef AUTOBATCH_TESTS_VECTORS_PROFILE_UNITS_FORM_H_
#define AUTOBATCH_TESTS_VECTORS_PROFILE_UNITS_FORM_H_

#include "tests/vectors/form.h"

namespace autobatch {

// profile_units_*.jsonl: a seed estimator with its package's own profiler, over prescribed readings
// of the allocator. Also asked for: the number that each size hands to the fit, and the readings
// taken.
Form ProfileUnitsForm();

}  // namespace autobatch

#endif  // AUTOBATCH_TESTS_VECTORS_PROFILE_UNITS_FORM_H_
