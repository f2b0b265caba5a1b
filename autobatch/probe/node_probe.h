#ifndef AUTOBATCH_PROBE_NODE_PROBE_H_
#define AUTOBATCH_PROBE_NODE_PROBE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "autobatch/base/clock.h"
#include "autobatch/base/mutex.h"
#include "autobatch/probe/device_probe.h"
#include "autobatch/probe/probe_spec.h"
#include "autobatch/probe/result_cache.h"
#include "autobatch/trial/node_trial_runner.h"
#include "autobatch/trial/trial_runner.h"
#include "autobatch/types/device.h"
#include "autobatch/types/report.h"

namespace autobatch {

// Watches a probe. Called by several threads, one call at a time; `device` counts from 0 in the
// order of the list.
class ProbeObserver {
 public:
  virtual ~ProbeObserver() = default;
  virtual void OnProgress(size_t device, const TrialSpec& trial, const Reply& reply) = 0;
  virtual void OnTrial(size_t device, const Observation& observation) = 0;
  virtual void OnDevice(size_t device, const DeviceResult& result) = 0;
};

// What a node's probe needs from outside; everything outlives it.
struct NodeProbeParts {
  // A runner of trials of this workload on this device.
  std::function<std::unique_ptr<TrialRunner>(const Device&, const WorkloadSpec&)> make_runner;
  // A runner of trials of this workload on all of these devices at once (TrialScope::kNode).
  std::function<std::unique_ptr<NodeTrialRunner>(const std::vector<Device>&, const WorkloadSpec&)>
      make_node_runner;
  const Clock& clock = Clock::Real();
  ProbeObserver* observer = nullptr;   // May be null.
  const ResultCache* cache = nullptr;  // May be null.
  // What the caller knows of a device from an earlier probe: goes before the cache, and is run once
  // more like its answers. May be empty. Called by several threads.
  std::function<std::optional<FirstGuess>(const Device&)> earlier;
  // For the cache's keys; empty where unknown.
  std::string driver_version;
  std::string libtorch_version;
};

// Probes all devices of a node side by side, one thread a device. Identical devices that nobody
// else uses share one search: the first one's answer is the first guess of the others, which each
// run it. Where each trial runs on all devices at once there is one search for them all, and the
// cache, which knows devices, is left alone.
class NodeProbe {
 public:
  NodeProbe(ProbeSpec spec, std::vector<Device> devices, NodeProbeParts parts);

  // Blocks until every device has its result, in the order of the list. To be called once.
  std::vector<DeviceResult> Run();

  // Ends everything that runs; Run returns soon with what there is. `why` is every unfinished
  // device's failure. From any thread.
  void Cancel(Failure why);

 private:
  void RunDevice(size_t index);
  std::vector<DeviceResult> RunWholeNode();
  // What the search on device `index` needs; absent: on all devices at once.
  DeviceProbeParts PartsFor(TrialRunner& runner, std::optional<size_t> index);
  DeviceResult Probe(size_t index, TrialRunner& runner, const std::optional<FirstGuess>& guess);
  std::optional<FirstGuess> Guess(size_t index, DeviceResult& notes);
  std::optional<FirstGuess> WaitForLeader(size_t leader);
  CacheKey KeyOf(size_t index) const;
  void Keep(size_t index, DeviceResult& result);
  std::optional<Failure> stopped() const;

  const ProbeSpec spec_;
  const std::vector<Device> devices_;
  const NodeProbeParts parts_;
  const std::vector<size_t> leaders_;
  // Kept from two observers at once.
  Mutex observing_;

  mutable Mutex mutex_;
  ConditionVariable changed_;
  int64_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<Failure> stopped_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::optional<DeviceResult>> results_ ABSL_GUARDED_BY(mutex_);
  std::vector<TrialRunner*> runners_ ABSL_GUARDED_BY(mutex_);
};

// For each device the index of the one whose search it shares: the first that has the same name,
// total memory and kind, none of them used by another process. Itself otherwise.
std::vector<size_t> SearchLeaders(const std::vector<Device>& devices);

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_NODE_PROBE_H_
