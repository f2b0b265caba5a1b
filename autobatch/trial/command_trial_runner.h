#ifndef AUTOBATCH_TRIAL_COMMAND_TRIAL_RUNNER_H_
#define AUTOBATCH_TRIAL_COMMAND_TRIAL_RUNNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "autobatch/trial/trial_runner.h"
#include "autobatch/types/device.h"
#include "autobatch/types/workload.h"

namespace autobatch {

// What a command seen from outside reports as its method.
inline constexpr char kDriverMethod[] = "driver";
// And where the observer was in it.
inline constexpr char kObserverMethod[] = "observer";

struct CommandTrialOptions {
  // autobatch/trial:guard.
  std::string guard;
  // autobatch/observer:libobserver.so, preloaded into commands on a GPU; empty: not.
  std::string observer;
  // On top of this process's own; what a trial itself needs comes on top of it.
  std::vector<std::pair<std::string, std::string>> environment;
  // Where the command runs: the user's own folder, so that relative paths work. Empty: here.
  std::string working_directory;
  // The one device that the command sees.
  Device device;
  // kCommand, with valid placeholders.
  WorkloadSpec workload;
  // Ranks of the training that follows, for {global_batch}.
  int64_t world_size = 1;
  // Reads a GPU's memory with every process on it; empty: unknown. Not asked for the CPU, whose
  // memory is what the command and its descendants hold of the host's.
  std::function<absl::StatusOr<MemoryInfo>()> read_device_memory;
  // From the asking (SIGTERM) to SIGKILL, and from a result to being asked.
  absl::Duration grace = absl::Seconds(3);
  // Between two readings of memory, at least: where reading takes long it is done less often.
  absl::Duration reading_interval = absl::Milliseconds(20);
};

// Runs the trials of a user's own command, each in a process of its own, in a folder-to-write of
// its own that is removed afterwards, with the loggers of experiments offline.
//
// A command that speaks the trial protocol (types/protocol.h) measures itself. Any other is watched
// from outside: how it ended, and the greatest memory of its process tree. On a GPU the observer
// counts its allocations and keeps it to the budget (kObserverMethod), as PyTorch's own limit does;
// what refuses the preload leaves the driver's view (kDriverMethod). On the CPU what is seen above
// the budget is ended.
// What is worth knowing of a good trial is in Observation::warnings.
std::unique_ptr<TrialRunner> NewCommandTrialRunner(CommandTrialOptions options);

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_COMMAND_TRIAL_RUNNER_H_
