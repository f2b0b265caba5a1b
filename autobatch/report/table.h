#ifndef AUTOBATCH_REPORT_TABLE_H_
#define AUTOBATCH_REPORT_TABLE_H_

#include <string>

#include "autobatch/types/report.h"

namespace autobatch {

// The answer for people: one row a device, the margins (every byte held back has a name), failures
// with the child's last lines, the node's minimum, which device set it and why, what it would be
// without that device, and the global batch. Several lines, ended by a newline. Says of every batch
// that did not run whether it is "estimated", and of every result of a simulated device that it is
// "simulated". Names from outside are escaped; they cannot add lines or control a terminal.
//
// `width`: columns to fit into, from 80; names and notes are shortened or wrapped, numbers never.
std::string ResultTable(const NodeReport& report, int width = 100);

// The report's and its devices' warnings, a line each, for an output that has no place for them: a
// batch of the CPU's because no driver answers, or one that the command ignores, must not enter a
// launch script unseen.
std::string WarningLines(const NodeReport& report);

}  // namespace autobatch

#endif  // AUTOBATCH_REPORT_TABLE_H_
