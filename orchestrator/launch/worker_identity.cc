#include "orchestrator/launch/worker_identity.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

// A full UUID: "GPU-" and 36 characters. CUDA takes a unique beginning of one too.
bool IsUuid(absl::string_view text) {
  return (absl::StartsWith(text, "GPU-") || absl::StartsWith(text, "MIG-")) && text.size() >= 40;
}

std::optional<std::string> OwnDevice(const Environment& environment, int64_t local_rank) {
  const auto visible = environment.find("CUDA_VISIBLE_DEVICES");
  if (visible == environment.end()) return std::nullopt;
  const std::vector<std::string> devices =
      absl::StrSplit(visible->second, ',', absl::SkipWhitespace());
  for (const std::string& device : devices) {
    if (!IsUuid(device)) return std::nullopt;
  }
  if (devices.size() == 1) return devices[0];
  const size_t own = static_cast<size_t>(local_rank);
  return own < devices.size() ? std::optional(devices[own]) : std::nullopt;
}

}  // namespace

absl::StatusOr<WorkerRequest> IdentifyWorker(const LauncherReading& reading,
                                             const Environment& environment) {
  AB_RETURN_IF_ERROR(CheckReading(reading));
  const LauncherFacts& facts = reading.facts;
  if (!facts.rank.has_value() || !facts.world_size.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this process has no rank (", DialectName(facts),
        "): launch --worker is to be started by torchrun --no-python, srun or mpirun, once a rank; "
        "for a command that starts all ranks itself leave --worker out"));
  }
  // A launcher that says nothing of the node has started one rank on it, as far as can be told.
  const int64_t local_rank = facts.local_rank.value_or(0);
  const int64_t local_world_size = facts.local_world_size.value_or(local_rank + 1);
  return WorkerRequest{.world_size = *facts.world_size,
                       .rank = *facts.rank,
                       .local_rank = local_rank,
                       .local_world_size = local_world_size,
                       .device_uuid = OwnDevice(environment, local_rank)};
}

}  // namespace autobatch
