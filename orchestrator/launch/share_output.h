#ifndef ORCHESTRATOR_LAUNCH_SHARE_OUTPUT_H_
#define ORCHESTRATOR_LAUNCH_SHARE_OUTPUT_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orchestrator/launch/training_values.h"
#include "orchestrator/plan/record.h"
#include "orchestrator/service/worker_request.h"

namespace autobatch {

// What is written instead of starting a command.
enum class LaunchFormat { kJson, kEnv, kSlurmTaskProlog };
BOOST_DESCRIBE_ENUM(LaunchFormat, kJson, kEnv, kSlurmTaskProlog)

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

// Of one worker, whose reply grants a share, and of a whole world.
LaunchOutput OutputOf(const WorkerReply& reply);
LaunchOutput OutputOf(const Record& record, const std::string& record_path,
                      const TrainingValues& values);

// The output in this format. Errors as TaskPrologLines'.
absl::StatusOr<std::string> Formatted(LaunchFormat format, const LaunchOutput& output);

// For other containers of a pod: record.json (the bytes of `output.record_path`), launch.json and
// launch.env (lines for a shell) in this folder, which all three name.
absl::Status Publish(const std::string& folder, LaunchOutput output);

// Lines for Slurm's TaskProlog, `export NAME=value`: Slurm takes the rest of the line as it is,
// without a shell. InvalidArgument for a value with a line end, which would become another
// directive.
absl::StatusOr<std::string> TaskPrologLines(std::span<const WorkerVariable> variables);

// Lines for a shell to source: `export NAME='value'`, quoted where it needs to be.
std::string ShellLines(std::span<const WorkerVariable> variables);

}  // namespace autobatch

#endif  // ORCHESTRATOR_LAUNCH_SHARE_OUTPUT_H_
