#ifndef AUTOBATCH_REPORT_GOLDEN_H_
#define AUTOBATCH_REPORT_GOLDEN_H_

#include "absl/strings/string_view.h"

namespace autobatch {

// Fails the running test unless `text` is what autobatch/report/testdata/`name` holds. With
// AUTOBATCH_UPDATE_GOLDEN set to a folder it writes the file there instead.
void ExpectGolden(absl::string_view name, absl::string_view text);

}  // namespace autobatch

#endif  // AUTOBATCH_REPORT_GOLDEN_H_
