#ifndef ORCHESTRATOR_LAUNCH_LAUNCHER_WORDS_H_
#define ORCHESTRATOR_LAUNCH_LAUNCHER_WORDS_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// "torchrun" of "/opt/venv/bin/torchrun".
inline absl::string_view BaseName(absl::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// `python … -m NAME`, Python's own options in front included.
struct PythonModule {
  std::string name;
  size_t words = 0;
};

// Empty: the command starts no module of Python.
PythonModule ModuleOf(std::span<const std::string> command);

// An option of a launcher, spelt with '-' between its words.
struct LauncherOption {
  absl::string_view name;
  bool takes_value = true;
};

// Calls `take` with the name and value of each option in `command`, from the word `at` on, up to
// the launcher's own program, and returns where that is (the command's size: there is none). As any
// program that reads its options by argparse does, '_' is taken for '-', and the beginning of a
// name that is like no other's for the name. An option that is not in `known` is taken for one with
// a value. Errors are those of `take`.
absl::StatusOr<size_t> ReadLauncherOptions(
    std::span<const std::string> command, size_t at, std::span<const LauncherOption> known,
    const std::function<absl::Status(absl::string_view name, absl::string_view value)>& take);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_LAUNCHER_WORDS_H_
