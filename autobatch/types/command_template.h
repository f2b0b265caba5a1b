#ifndef AUTOBATCH_TYPES_COMMAND_TEMPLATE_H_
#define AUTOBATCH_TYPES_COMMAND_TEMPLATE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// What the placeholders of a command stand for in one run of it.
//
//   FillPlaceholders({"python", "train.py", "--batch={batch}"}, {.batch = 64})
//       // {"python", "train.py", "--batch=64"}
//
// {batch} and {micro_batch} are the samples of a micro-step; the others are named as their fields.
// A placeholder is a lower-case name between braces: JSON and most code in arguments stay as they
// are, and so does a shell's ${name}. {{name}} stands for {name} itself.
struct PlaceholderValues {
  int64_t batch = 1;
  int64_t accumulation = 1;
  int64_t global_batch = 1;
  // As the command sees it: "cuda:0", "cpu".
  std::string device;
  int64_t seed = 0;
  // Optimizer steps.
  int64_t steps = 1;
  // A folder for whatever the command writes.
  std::string output_dir;
};

// InvalidArgument for a placeholder that there is not; names it, the nearest one, and how to write
// the characters themselves.
absl::Status CheckPlaceholders(std::span<const std::string> command);

// Whether `command` holds the placeholder of this name ("batch" is also spelt "micro_batch").
bool UsesPlaceholder(std::span<const std::string> command, absl::string_view name);

// The command with its placeholders filled, argument by argument: no argument is split or joined,
// whatever it holds. Unknown placeholders stay as they are.
std::vector<std::string> FillPlaceholders(std::span<const std::string> command,
                                          const PlaceholderValues& values);

}  // namespace autobatch

#endif  // AUTOBATCH_TYPES_COMMAND_TEMPLATE_H_
