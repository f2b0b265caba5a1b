#ifndef ORCHESTRATOR_PLAN_DEVICE_OUTCOME_H_
#define ORCHESTRATOR_PLAN_DEVICE_OUTCOME_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autobatch/types/device.h"
#include "autobatch/types/failure.h"
#include "autobatch/types/report.h"

namespace autobatch {

// What the probe found on one device, as much of it as the cluster has use for: a device's whole
// result, with every trial, is a hundred times larger.
struct DeviceOutcome {
  std::string uuid;
  // "cuda:1", "NVIDIA A100-SXM4-80GB"
  std::string address;
  std::string name;
  bool simulated = false;
  // Absent: the driver does not tell.
  std::optional<int64_t> total_bytes;
  // Other processes that held its memory.
  std::vector<ProcessUse> others;
  ResultStatus status = ResultStatus::kFailed;
  // Samples; 0: it cannot train, and `failure` says why.
  int64_t batch = 0;
  // What kept it from being larger.
  BatchBound bound = BatchBound::kNone;
  std::optional<FailureKind> failure;
  // The failure in one line.
  std::string message;
};
BOOST_DESCRIBE_STRUCT(DeviceOutcome, (),
                      (uuid, address, name, simulated, total_bytes, others, status, batch, bound,
                       failure, message))

// The devices of one node (of one agent's view of it).
struct NodeOutcomes {
  std::string node;
  std::vector<DeviceOutcome> devices;
};
BOOST_DESCRIBE_STRUCT(NodeOutcomes, (), (node, devices))

// The summary of a device's result.
DeviceOutcome OutcomeOf(const DeviceResult& result);

}  // namespace autobatch

#endif  // ORCHESTRATOR_PLAN_DEVICE_OUTCOME_H_
