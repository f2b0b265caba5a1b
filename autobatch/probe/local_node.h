#ifndef AUTOBATCH_PROBE_LOCAL_NODE_H_
#define AUTOBATCH_PROBE_LOCAL_NODE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/mutex.h"
#include "autobatch/device/device_list.h"
#include "autobatch/device/device_sources.h"
#include "autobatch/device/memory_reader.h"
#include "autobatch/probe/node_probe.h"
#include "autobatch/probe/probe_spec.h"
#include "autobatch/probe/simulation.h"
#include "autobatch/trial/command_trial_options.h"
#include "autobatch/trial/worker_trial_runner.h"
#include "autobatch/types/device.h"
#include "autobatch/types/protocol.h"
#include "autobatch/types/report.h"
#include "autobatch/types/workload.h"

namespace autobatch {

// This machine as it is before anything runs: its devices, and the real parts that a probe of them
// is made of. Only mains make one.
//
//   AB_ASSIGN_OR_RETURN(std::unique_ptr<LocalNode> node, LocalNode::Describe(spec));
//   NodeProbe probe(spec, node->devices(), node->Parts());
class LocalNode {
 public:
  // Finds the programs, the devices that the spec asks for, and what the driver says of them to a
  // child; takes up to three minutes from a cold disk. `name` makes the UUIDs of the CPU and of
  // simulated devices, so that several agents of one host differ; empty: the host's. Simulated
  // devices change the environment: before other threads read it.
  //
  // InvalidArgument, Unimplemented: the request (or trials of a scope that these devices cannot
  // have); NotFound: no device; others: nothing can run.
  static absl::StatusOr<std::unique_ptr<LocalNode>> Describe(const ProbeSpec& spec,
                                                             const std::string& name = "");

  const DeviceList& list() const { return list_; }
  const std::vector<Device>& devices() const { return list_.devices; }
  const WorkerDescription& worker() const { return worker_; }
  const WorkerPrograms& programs() const { return programs_; }

  // A GPU's memory now, by the driver. As DeviceMemoryReader::Read; from any thread.
  absl::StatusOr<MemoryInfo> ReadMemory(absl::string_view uuid) { return memory_->Read(uuid); }

  // Of this moment.
  HostFacts Facts() const;

  // What a probe of this node needs; the node outlives it.
  NodeProbeParts Parts();

 private:
  LocalNode() = default;
  DeviceSources Sources() const;
  CommandTrialOptions CommandOptions(std::vector<Device> devices, const WorkloadSpec& workload);

  ProbeSpec spec_;
  WorkerPrograms programs_;
  WorkerDescription worker_;
  DeviceList list_;
  mutable Mutex framework_mutex_;
  // What trials of a command saw, from their threads; "": nothing yet.
  std::string command_framework_ ABSL_GUARDED_BY(framework_mutex_);
  // Null: real devices.
  std::unique_ptr<Simulation> simulation_;
  std::unique_ptr<DeviceMemoryReader> memory_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_PROBE_LOCAL_NODE_H_
