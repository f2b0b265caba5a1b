#ifndef AUTOBATCH_TESTS_VECTORS_AUTOBATCH_FORM_H_
#define AUTOBATCH_TESTS_VECTORS_AUTOBATCH_FORM_H_

#include "tests/vectors/form.h"

namespace autobatch {

// yolov5*.jsonl, ultralytics*.jsonl, ultralytics_8_4.jsonl: a seed estimator over given memory.
// Asked for: the batch or an error, the log with its levels, whether and how the profiler was
// called. An answer marked fragile is not compared.
Form AutobatchForm();

}  // namespace autobatch

#endif  // AUTOBATCH_TESTS_VECTORS_AUTOBATCH_FORM_H_
