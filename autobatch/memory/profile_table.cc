#include "autobatch/memory/profile_table.h"

#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/str_format.h"
#include "autobatch/memory/python_numbers.h"

namespace autobatch {
namespace {

// A thousand million, and a multiply-add already counts 2 in an observation.
constexpr double kGiga = 1e9;

std::string Milliseconds(const std::optional<double>& value) {
  return PythonGeneral(value.value_or(std::numeric_limits<double>::quiet_NaN()), 4);
}

std::string Shape(const std::vector<std::string>& shapes) {
  return shapes.size() == 1 ? shapes.front() : "list";
}

}  // namespace

std::string ProfileHeader(ProfileUnit unit) {
  return absl::StrFormat("%12s%12s%14s%14s%14s%24s%24s", "Params", "GFLOPs",
                         unit == ProfileUnit::kGb ? "GPU_mem (GB)" : "GPU_mem (GiB)",
                         "forward (ms)", "backward (ms)", "input", "output");
}

std::string ProfileRow(const Observation& observation, double memory) {
  if (observation.failure.has_value()) return observation.failure->message;
  return absl::StrFormat("%12d%12s%14s%14s%14s%24s%24s", observation.parameters.value_or(0),
                         PythonGeneral(observation.forward_flops.value_or(0) / kGiga, 4),
                         PythonFixed(memory, 3), Milliseconds(observation.forward_ms),
                         Milliseconds(observation.backward_ms), Shape(observation.input_shapes),
                         Shape(observation.output_shapes));
}

}  // namespace autobatch
