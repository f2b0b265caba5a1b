#ifndef AUTOBATCH_PROBE_PROBE_SPEC_H_
#define AUTOBATCH_PROBE_PROBE_SPEC_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "autobatch/types/device.h"
#include "autobatch/types/launched_ranks.h"
#include "autobatch/types/report.h"
#include "autobatch/types/workload.h"

namespace autobatch {

// What a probe is asked: which devices, which training step, which limits. Sizes are samples, bytes
// or as said.
struct ProbeSpec {
  // A device list ("cuda", "cuda:0,2", "cpu"); empty: every visible GPU, else the CPU.
  std::string devices;
  WorkloadSpec workload;
  // Absent: fp32 on the CPU, AMP fp16 on CUDA.
  std::optional<Precision> precision;

  Strategy strategy = Strategy::kConfirm;
  // Run a seed estimator's answer as a confirming trial too.
  bool confirm_estimate = false;
  // Share of the device that a seed estimator aims at; absent: the original's default.
  std::optional<double> fraction;

  // Treat the device as if no more than this were free; the only way to more than 2 GiB on the CPU.
  std::optional<int64_t> memory_limit_bytes;
  // Held back on top of everything measured; absent: max(256 MiB, 2 % of the device).
  std::optional<int64_t> headroom_bytes;
  std::optional<double> headroom_fraction;
  // Held back for NCCL; absent: 0 for one rank, else 1 GiB until measured.
  std::optional<int64_t> communicator_bytes;

  // For the search on each device; absent: 120 s on the CPU (a step takes seconds), none on CUDA.
  std::optional<absl::Duration> time_limit;
  // A trial that takes longer is hung.
  absl::Duration trial_timeout = absl::Minutes(10);

  int64_t max_batch = 65536;
  // Samples in the whole data set; caps the batch at what one rank has. Absent: no cap.
  std::optional<int64_t> dataset_size;
  // Ranks of the data-parallel job; absent: those that the command's launcher starts, else the
  // number of devices probed.
  std::optional<int64_t> world_size;
  std::optional<LaunchedRanks> launched;
  // Relative width of the bracket at which the search ends.
  double tolerance = 0.03;
  int64_t multiple_of = 1;
  bool power_of_two = false;
  // Stop where a larger batch no longer trains more samples a second.
  bool throughput_knee = false;
  int64_t explore_steps = 3;
  int64_t confirm_steps = 8;
  int64_t accumulation = 1;
  int64_t seed = 0;

  // What one trial runs on. The whole node at once needs a command that starts a rank for each
  // device.
  TrialScope scope = TrialScope::kDevice;
  // Devices probed at the same time; 0: all.
  int64_t parallel = 0;
  bool use_cache = true;
  std::string cache_directory;
};

// The ranks that the answer is for, given how many devices are probed.
int64_t WorldSize(const ProbeSpec& spec, int64_t devices);

// The workload with its precision settled for this device.
WorkloadSpec WorkloadFor(const ProbeSpec& spec, const Device& device);

// The time limit in force on this device; infinite for none.
absl::Duration TimeLimitFor(const ProbeSpec& spec, const Device& device);

// InvalidArgument: devices of which one trial cannot use all at once. Always OK for trials of one.
absl::Status CheckScope(const ProbeSpec& spec, std::span<const Device> devices);

// InvalidArgument for a size <= 0, a fraction outside (0, 1], or settings that contradict each
// other; names the flag and what would be right.
absl::Status Validate(const ProbeSpec& spec);

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_PROBE_SPEC_H_
