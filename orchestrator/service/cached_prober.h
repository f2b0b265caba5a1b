#ifndef ORCHESTRATOR_SERVICE_CACHED_PROBER_H_
#define ORCHESTRATOR_SERVICE_CACHED_PROBER_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "autobatch/base/mutex.h"
#include "autobatch/probe/device_probe.h"
#include "autobatch/probe/node_probe.h"
#include "autobatch/probe/probe_spec.h"
#include "autobatch/probe/result_cache.h"
#include "autobatch/types/device.h"
#include "autobatch/types/report.h"
#include "orchestrator/service/node_prober.h"

namespace autobatch {

// Whether a device whose driver, workload and settings are those of an earlier answer runs it once
// more before it is reported.
enum class VerifyPolicy {
  kNever,   // No trial ever runs: a device without an earlier answer fails.
  kFirst,   // An answer counts as long as nothing changed; after a change the device is searched.
  kAlways,  // One trial in every round.
};
BOOST_DESCRIBE_ENUM(VerifyPolicy, kNever, kFirst, kAlways)

struct CachedProberOptions {
  ProbeSpec spec;
  std::vector<Device> devices;
  // What NodeProbe needs; its cache may be null. All outlives the prober.
  NodeProbeParts parts;
  VerifyPolicy verify = VerifyPolicy::kFirst;
  // Reads a device's memory now; empty: it cannot be read. Before trials on a GPU, the processes
  // that came since `devices` was listed (the job's own, which end) are waited for.
  std::function<absl::StatusOr<MemoryInfo>(absl::string_view uuid)> read_memory;
  absl::Duration release_timeout = absl::Seconds(30);
  // For people: what is waited for. May be empty; called on the probing thread.
  std::function<void(absl::string_view)> say;
};

// Probes by autobatch/probe, and remembers: in an elastic round an unchanged device answers at
// once.
class CachedProber final : public NodeProber {
 public:
  explicit CachedProber(CachedProberOptions options);

  ProbeAnswer Probe(std::optional<int64_t> communicator_bytes) override;
  void Cancel(const std::string& why) override;

  // Every device's whole result, as last reported; empty before the first probe. From any thread.
  std::vector<DeviceResult> results() const;

 private:
  ProbeSpec SpecFor(std::optional<int64_t> communicator_bytes) const;
  std::optional<FirstGuess> EarlierAnswer(const ProbeSpec& spec, const Device& device) const;
  // What is said of a device without running anything; absent: it has to be run.
  std::optional<DeviceResult> WithoutTrial(const ProbeSpec& spec, const Device& device,
                                           std::optional<int64_t> communicator_bytes) const;
  std::vector<DeviceResult> Run(const ProbeSpec& spec, std::vector<Device> devices);
  void WaitForRelease(const std::vector<Device>& devices);
  void AwaitNewcomersEnd(const Device& device);
  int64_t CommunicatorBytes(const ProbeSpec& spec, const DeviceResult& result) const;
  ProbeAnswer Summarize(const ProbeSpec& spec, const std::vector<DeviceResult>& results) const;

  const CachedProberOptions options_;
  // Answers of this process by UUID, and the communicator margin that they were confirmed under.
  struct Known {
    DeviceResult result;
    int64_t communicator_bytes = 0;
  };
  std::map<std::string, Known> known_;

  mutable Mutex mutex_;
  ConditionVariable cancelled_;
  NodeProbe* running_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::optional<std::string> cancel_reason_ ABSL_GUARDED_BY(mutex_);
  std::vector<DeviceResult> results_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_CACHED_PROBER_H_
