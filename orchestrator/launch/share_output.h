#ifndef ORCHESTRATOR_LAUNCH_SHARE_OUTPUT_H_
#define ORCHESTRATOR_LAUNCH_SHARE_OUTPUT_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "orchestrator/service/worker_request.h"

namespace autobatch {

inline constexpr char kLaunchSchema[] = "autobatch.launch.v1";

// What `--format json` writes.
struct LaunchOutput {
  std::string schema = kLaunchSchema;
  std::string run_id;
  int64_t round = 0;
  // The committed record's digest, and where the record is.
  std::string digest;
  std::string record_path;
  bool fallback = false;
  bool simulated = false;
  // One worker's share; absent where the values are those of a whole world.
  std::optional<WorkerShare> share;
  std::vector<WorkerVariable> variables;
};
BOOST_DESCRIBE_STRUCT(LaunchOutput, (),
                      (schema, run_id, round, digest, record_path, fallback, simulated, share,
                       variables))

// Lines for Slurm's TaskProlog, `export NAME=value`: Slurm takes the rest of the line as it is,
// without a shell. InvalidArgument for a value with a line end, which would become another
// directive.
absl::StatusOr<std::string> TaskPrologLines(std::span<const WorkerVariable> variables);

// Lines for a shell to source: `export NAME='value'`, quoted where it needs to be.
std::string ShellLines(std::span<const WorkerVariable> variables);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_SHARE_OUTPUT_H_
