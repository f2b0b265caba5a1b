#ifndef AUTOBATCH_BASE_LOG_H_
#define AUTOBATCH_BASE_LOG_H_

#include "absl/strings/string_view.h"

namespace autobatch {

// The only room with glog: c10 defines the same macros, and no file may see both.
// All functions are thread-safe and write to stderr.

// Call once in main, before any other thread.
void InitLog(const char* program);

void LogWarning(absl::string_view text);
void LogError(absl::string_view text);

}  // namespace autobatch

#endif  // AUTOBATCH_BASE_LOG_H_
