#ifndef AUTOBATCH_PROBE_COMMAND_LINE_H_
#define AUTOBATCH_PROBE_COMMAND_LINE_H_

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "autobatch/probe/probe_spec.h"

namespace autobatch {

enum class OutputFormat { kTable, kJson, kEnv };
BOOST_DESCRIBE_ENUM(OutputFormat, kTable, kJson, kEnv)

// Everything that `probe` was asked on its command line.
struct CommandLine {
  ProbeSpec probe;
  OutputFormat format = OutputFormat::kTable;
  // Files to write besides; "-" is stdout; empty: none.
  std::string json_path;
  std::string html_path;
  bool quiet = false;
  // Print this text and exit with 0.
  std::string print_and_exit;
};

// Reads the arguments (without the program's name); what follows "--" is a command that is the
// workload, kept as it is. Paths are resolved where the user stands.
// InvalidArgument names the flag or value that is wrong, the nearest valid one and what would be
// right.
absl::StatusOr<CommandLine> ParseCommandLine(std::span<const std::string> arguments);

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_COMMAND_LINE_H_
