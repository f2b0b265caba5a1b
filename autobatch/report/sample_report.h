#ifndef AUTOBATCH_REPORT_SAMPLE_REPORT_H_
#define AUTOBATCH_REPORT_SAMPLE_REPORT_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "autobatch/types/report.h"

// Reports that the tests of every format share.
namespace autobatch {

// A GPU with a whole search behind it: points that ran, one that failed, a fit, two margins, and
// `batch` confirmed. cuda:`index`.
DeviceResult ConfirmedResult(int64_t index, int64_t batch);

// A GPU whose model failed at batch 1: nothing ran.
DeviceResult FailedResult(int64_t index);

// The CPU, ended by the time limit after one trial: no fit.
DeviceResult PartialResult();

// With the minimum worked out as the probe does.
NodeReport ReportOf(std::vector<DeviceResult> devices);

// Whatever a hostile name or stderr may hold: markup, quotes, escape sequences, line ends.
inline constexpr absl::string_view kHostile =
    "<script>alert(1)</script>\"'&\x1b[2J\r\nAUTOBATCH_MICRO_BATCH=9\xff";

// Every string of it is `kHostile`.
NodeReport HostileReport();

}  // namespace autobatch

#endif  // AUTOBATCH_REPORT_SAMPLE_REPORT_H_
