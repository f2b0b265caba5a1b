#ifndef AUTOBATCH_TRIAL_COMMAND_TRIAL_OPTIONS_H_
#define AUTOBATCH_TRIAL_COMMAND_TRIAL_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "autobatch/types/device.h"
#include "autobatch/types/workload.h"

namespace autobatch {

// A user's own command, and what its trials need.
struct CommandTrialOptions {
  // autobatch/trial:guard.
  std::string guard;
  // autobatch/observer:libobserver.so, preloaded into commands on a GPU; empty: not.
  std::string observer;
  // On top of this process's own; what a trial itself needs comes on top of it.
  std::vector<std::pair<std::string, std::string>> environment;
  // Where the command runs: the user's own folder, so that relative paths work. Empty: here.
  std::string working_directory;
  // What the command sees, in this order: one device, or several GPUs.
  std::vector<Device> devices;
  // kCommand, with valid placeholders.
  WorkloadSpec workload;
  // Ranks of the training that follows, for {global_batch}.
  int64_t world_size = 1;
  // Reads a GPU's memory with every process on it; empty: unknown. Not asked for the CPU, whose
  // memory is what the command and its descendants hold of the host's.
  std::function<absl::StatusOr<MemoryInfo>(const Device&)> read_device_memory;
  // Told once, from the thread of a trial, of the PyTorch that the command has loaded
  // (SeenFramework); empty: nobody asks.
  std::function<void(const std::string&)> saw_framework;
  // From the asking (SIGTERM) to SIGKILL, and from a result to being asked.
  absl::Duration grace = absl::Seconds(3);
  // Between two readings of memory, at least: where reading takes long it is done less often.
  absl::Duration reading_interval = absl::Milliseconds(20);
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_COMMAND_TRIAL_OPTIONS_H_
