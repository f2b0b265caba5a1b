#ifndef ORCHESTRATOR_CORE_OPTION_CHANGES_H_
#define ORCHESTRATOR_CORE_OPTION_CHANGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "orchestrator/core/coordinator_config.h"
#include "orchestrator/core/coordinator_state.h"

namespace autobatch {

// What a coordinator that was started anew is asked for, against what its predecessor's last record
// was made with.
struct OptionChanges {
  // "--global-batch: 512 -> 1024", one each.
  std::vector<std::string> words;
  // Another record follows from the options.
  bool of_record = false;
  // Other limits of nodes: the record stands where its nodes are within them.
  bool of_limits = false;
};

// None where it is not known with what.
OptionChanges ChangesSince(const CoordinatorState& state, const CoordinatorConfig& config);

// Whether its record can no longer stand, for a round of so many nodes.
bool AskForAnotherRecord(const OptionChanges& changes, const CoordinatorConfig& config,
                         int64_t nodes);

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_OPTION_CHANGES_H_
