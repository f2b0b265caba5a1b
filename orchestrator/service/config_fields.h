#ifndef ORCHESTRATOR_SERVICE_CONFIG_FIELDS_H_
#define ORCHESTRATOR_SERVICE_CONFIG_FIELDS_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "autobatch/probe/probe_spec.h"
#include "autobatch/types/workload.h"
#include "orchestrator/plan/record.h"
#include "orchestrator/wire/agent_messages.h"

namespace autobatch {

// Everything that must be the same on all nodes for their batches to be comparable: the workload,
// field by field ("workload.optimizer"), and the settings that move the answer ("probe.max_batch").
// What may differ from node to node (devices, memory limits, time, caches) is left out. A
// TorchScript file counts by its content, not by its path. Errors of reading that file.
absl::StatusOr<std::vector<NamedValue>> ConfigFields(const ProbeSpec& spec,
                                                     const WorkloadSpec& workload,
                                                     const DigestFunction& digest);

// Over names and values, whatever their order.
std::string ConfigDigest(std::span<const NamedValue> fields, const DigestFunction& digest);

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_CONFIG_FIELDS_H_
