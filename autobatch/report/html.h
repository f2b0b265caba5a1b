#ifndef AUTOBATCH_REPORT_HTML_H_
#define AUTOBATCH_REPORT_HTML_H_

#include <string>

#include "autobatch/types/report.h"

namespace autobatch {

// One self-contained page: no script, no font, no image from elsewhere. The node's answer, a table
// of the devices, and for each device its memory against batch (points, fit and band, budget,
// answer), its margins and its trials. Light and dark by the reader's preference; every plot has a
// title, a description and its numbers as a table. All text from outside is escaped.
std::string HtmlReport(const NodeReport& report);

}  // namespace autobatch

#endif  // AUTOBATCH_REPORT_HTML_H_
