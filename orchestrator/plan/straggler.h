#ifndef ORCHESTRATOR_PLAN_STRAGGLER_H_
#define ORCHESTRATOR_PLAN_STRAGGLER_H_

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "orchestrator/plan/device_outcome.h"

namespace autobatch {

// Why one device takes less than the others.
enum class StragglerCause {
  kNone,            // All devices take the same.
  kFailure,         // It has no batch, or less than it could: its probe failed or was cut short.
  kOtherProcesses,  // Another process holds its memory; an equal device without one takes more.
  kSmallerDevice,   // It has less memory than the device that takes more.
  kOtherLimit,      // Not memory: the data set, --max-batch, throughput.
  kUnknown,         // An equal device takes more, and nothing that was reported explains it.
};
BOOST_DESCRIBE_ENUM(StragglerCause, kNone, kFailure, kOtherProcesses, kSmallerDevice, kOtherLimit,
                    kUnknown)

// A cluster in which every device takes `batch`.
struct WhatIf {
  int64_t devices = 0;
  int64_t batch = 0;
  // Samples that all of them take in one micro-step.
  int64_t samples = 0;
};
BOOST_DESCRIBE_STRUCT(WhatIf, (), (devices, batch, samples))

// Which device sets the minimum of the cluster, why, and what that costs.
struct StragglerReport {
  std::string node;
  DeviceOutcome device;
  StragglerCause cause = StragglerCause::kNone;
  // The cause in one line, with its numbers.
  std::string reason;
  // Devices with the same batch as this one, itself included.
  int64_t devices_at_minimum = 0;

  // Every device at the minimum, as it is now.
  WhatIf now;
  // Without this device; without its node; without every device that has only the minimum. Absent
  // where nothing would be left.
  std::optional<WhatIf> without_device;
  std::optional<WhatIf> without_node;
  std::optional<WhatIf> without_minimum;
  // Every device at its own batch: the samples of a micro-step of per-device shares.
  int64_t samples_with_shares = 0;
  bool simulated = false;
};
BOOST_DESCRIBE_STRUCT(StragglerReport, (),
                      (node, device, cause, reason, devices_at_minimum, now, without_device,
                       without_node, without_minimum, samples_with_shares, simulated))

// The straggler of a cluster: of several devices with the minimum, the first one that has a reason
// (in the order failure, other processes, smaller device), by node and device name. The order of
// the nodes does not matter. InvalidArgument without any device.
absl::StatusOr<StragglerReport> FindStraggler(std::span<const NodeOutcomes> nodes);

// The same for people: a few lines, names from outside escaped.
std::string StragglerText(const StragglerReport& report);

}  // namespace autobatch

#endif  // ORCHESTRATOR_PLAN_STRAGGLER_H_
