#ifndef AUTOBATCH_TESTS_VECTORS_VISIBLE_DEVICES_FORM_H_
#define AUTOBATCH_TESTS_VECTORS_VISIBLE_DEVICES_FORM_H_

#include "tests/vectors/form.h"

namespace autobatch {

// cuda_visible_devices.jsonl: which physical devices a value of CUDA_VISIBLE_DEVICES shows, in
// order.
Form VisibleDevicesForm();

}  // namespace autobatch

#endif  // AUTOBATCH_TESTS_VECTORS_VISIBLE_DEVICES_FORM_H_
