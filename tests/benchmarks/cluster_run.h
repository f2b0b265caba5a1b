#ifndef TESTS_BENCHMARKS_CLUSTER_RUN_H_
#define TESTS_BENCHMARKS_CLUSTER_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/base/version.h"
#include "orchestrator/net/credentials.h"
#include "orchestrator/net/secret.h"
#include "orchestrator/plan/device_outcome.h"
#include "orchestrator/wire/agent_messages.h"

namespace autobatch {

// The run that the cluster benchmark measures: nodes of eight devices, the first of which sets the
// minimum.

inline constexpr char kBenchmarkRun[] = "benchmark";
inline constexpr int kDevicesOfNode = 8;

// Known to everybody: nothing is worth protecting here.
inline Credentials BenchmarkCredentials() {
  return SharedSecret{kBenchmarkRun, Secret::FromBytes("a secret of the benchmark").value()};
}

// "GPU-" and a UUID, as NVIDIA's are.
inline std::string BenchmarkDevice(int64_t node, int64_t device) {
  return absl::StrCat("GPU-", absl::Hex(node, absl::kZeroPad8), "-4f3c-11ef-9a7b-",
                      absl::Hex(device, absl::kZeroPad12));
}

inline AgentHello BenchmarkHello(int64_t node) {
  AgentHello hello{
      .run_id = kBenchmarkRun,
      .agent = absl::StrCat("node-", node),
      .incarnation = absl::StrCat("start-", node),
      .boot_id = absl::StrCat("boot-", node),
      .config_digest = std::string(64, 'c'),
      .versions = {{"autobatch", kVersion}, {"libtorch", "2.11.0"}, {"driver", "580.65"}},
      .workload = "conv"};
  for (const char* setting : {"workload", "precision", "optimizer", "steps", "headroom"}) {
    hello.config.push_back({setting, "as everywhere"});
  }
  for (int64_t device = 0; device < kDevicesOfNode; ++device) {
    hello.devices.push_back({.uuid = BenchmarkDevice(node, device),
                             .name = "NVIDIA A100-SXM4-80GB",
                             .total_bytes = int64_t{80} << 30});
  }
  return hello;
}

inline std::vector<DeviceOutcome> BenchmarkOutcomes(int64_t node) {
  std::vector<DeviceOutcome> outcomes;
  for (int64_t device = 0; device < kDevicesOfNode; ++device) {
    outcomes.push_back({.uuid = BenchmarkDevice(node, device),
                        .address = absl::StrCat("cuda:", device),
                        .name = "NVIDIA A100-SXM4-80GB",
                        .total_bytes = int64_t{80} << 30,
                        .status = ResultStatus::kConfirmed,
                        .batch = node == 0 ? 24 : 32,
                        .bound = BatchBound::kMemory});
  }
  return outcomes;
}

}  // namespace autobatch

#endif  // TESTS_BENCHMARKS_CLUSTER_RUN_H_
