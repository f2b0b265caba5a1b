#ifndef AUTOBATCH_TOOLS_PLAN_OPTIONS_H_
#define AUTOBATCH_TOOLS_PLAN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "orchestrator/plan/plan_request.h"

namespace autobatch {

// Everything that `plan` was asked on its command line.
struct PlanOptions {
  // Without its world sizes: how many ranks a process count is, is known only when every file was
  // read.
  PlanRequest request;
  // As the launcher counts, in processes.
  std::optional<int64_t> world_size;
  std::optional<int64_t> min_world_size;
  std::optional<int64_t> max_world_size;
  // What the devices can take, from exactly one of these.
  std::optional<int64_t> batch;
  std::vector<int64_t> shares;
  std::vector<std::string> reports;
  // Reports: each device takes its own batch, not the minimum.
  bool per_device = false;
  // Was it given, or is it to follow from the other options?
  bool has_rule = false;
  bool has_model_parallel = false;
  std::optional<int64_t> samples_seen;
  // Files; empty: none. json_path may be "-".
  std::string deepspeed_path;
  std::string json_path;
  // Print this text and exit with 0.
  std::string print_and_exit;
};

// Reads the arguments (without the program's name). Paths are resolved where the user stands.
// InvalidArgument names the flag or value that is wrong, and what would be right.
absl::StatusOr<PlanOptions> ParsePlanOptions(std::span<const std::string> arguments);

}  // namespace autobatch

#endif  // AUTOBATCH_TOOLS_PLAN_OPTIONS_H_
