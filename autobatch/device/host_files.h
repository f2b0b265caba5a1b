#ifndef AUTOBATCH_DEVICE_HOST_FILES_H_
#define AUTOBATCH_DEVICE_HOST_FILES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace autobatch {

// The kernel's files under /proc and /sys; `root` stands before each path (tests give a folder of
// their own, everyone else "").

// The whole file; absent where it cannot be read.
std::optional<std::string> ReadHostFile(absl::string_view root, absl::string_view path);

// The value after "key:" or "key " at the beginning of a line ("MemTotal:  16 kB" -> "16 kB");
// absent where no line begins so.
std::optional<absl::string_view> FindValue(absl::string_view text, absl::string_view key);

// The command's name of a process, 15 characters at most; empty where /proc does not tell.
std::string ProcessName(absl::string_view root, int64_t pid);

}  // namespace autobatch

#endif  // AUTOBATCH_DEVICE_HOST_FILES_H_
