#ifndef AUTOBATCH_TRIAL_COMMAND_ENVIRONMENT_H_
#define AUTOBATCH_TRIAL_COMMAND_ENVIRONMENT_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "autobatch/types/device.h"

namespace autobatch {

// Environment variables of a command under trial, on top of the user's own.
struct CommandEnvironment {
  std::vector<std::pair<std::string, std::string>> variables;
  // Settings of the user's own that had to give way.
  std::vector<std::string> warnings;
};

// The value of a variable in the user's environment; absent: not set.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

// Of this process.
std::optional<std::string> OwnEnvironment(const std::string& name);

// What a trial of a command needs: it sees `devices` alone (the CPU, or GPUs in this order); the
// usual experiment loggers upload nothing and write to `output_dir`, so that a dozen trials do not
// become a dozen runs on a dashboard (nothing that only loads models or data is switched off); with
// `memory_fraction` PyTorch's CUDA allocator answers out of memory at that share of a device,
// whichever it is. What PyTorch compiles stays where it would be kept, as the next trial needs it
// again: the trial's TMPDIR is another.
//
// FailedPrecondition: the user's allocator settings leave no way to measure (see MergeAllocConf).
absl::StatusOr<CommandEnvironment> MakeCommandEnvironment(
    std::span<const Device> devices, const std::string& output_dir,
    std::optional<double> memory_fraction, const EnvironmentLookup& lookup = OwnEnvironment);

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_COMMAND_ENVIRONMENT_H_
