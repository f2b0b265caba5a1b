#ifndef ORCHESTRATOR_CORE_CONFIG_DIFFERENCE_H_
#define ORCHESTRATOR_CORE_CONFIG_DIFFERENCE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "orchestrator/wire/agent_messages.h"

namespace autobatch {

// The settings that all agents must share.
struct SharedConfig {
  // Whose they are, for texts.
  std::string agent;
  std::vector<NamedValue> fields;
  std::string digest;
};

// How two agents' settings differ, field by field, in words; empty: they do not.
//
//   "batch-rule: 'exact' on node-b, 'largest' on node-a; optimizer: absent on node-b, 'adam' on …"
std::string ConfigDifference(const SharedConfig& first, const SharedConfig& other);

// Whether an agent takes part in minima by NCCL: only then it has settings "nccl.…".
bool TakesPartInNccl(const std::vector<NamedValue>& fields);

// The settings but those; with no digest, which is over all of them.
SharedConfig WithoutNccl(SharedConfig config);

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_CONFIG_DIFFERENCE_H_
