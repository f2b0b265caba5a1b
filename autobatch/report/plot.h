#ifndef AUTOBATCH_REPORT_PLOT_H_
#define AUTOBATCH_REPORT_PLOT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "autobatch/types/report.h"

namespace autobatch {

// Multiples of 1, 2 or 5 times a power of ten from 0 to at most `max`, about `count` of them, never
// closer than `least`. `max` > 0.
std::vector<double> NiceTicks(double max, int count, double least);

// One device's memory against batch as an inline SVG with its legend: every trial (its shape says
// purpose and outcome), the fit and its band, the budget, and the answer. `index` makes its ids
// unique in the page. Colours are classes of the page's style. Empty when
// nothing is known of its memory.
std::string MemoryPlot(const DeviceResult& result, size_t index);

}  // namespace autobatch

#endif  // AUTOBATCH_REPORT_PLOT_H_
