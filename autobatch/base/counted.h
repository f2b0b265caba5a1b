#ifndef AUTOBATCH_BASE_COUNTED_H_
#define AUTOBATCH_BASE_COUNTED_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace autobatch {

// "1 device", "1,024 devices", "3 retries", "2 processes": for people. `noun` is one that takes -s,
// -es or -ies.
std::string Counted(int64_t count, absl::string_view noun);

}  // namespace autobatch

#endif  // AUTOBATCH_BASE_COUNTED_H_
