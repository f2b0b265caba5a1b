#ifndef ORCHESTRATOR_CORE_VERSION_RULE_H_
#define ORCHESTRATOR_CORE_VERSION_RULE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// Whether programs of two versions may agree on a record. Semantic versioning: equal major
// versions, and below 1.0 equal minor ones. Patches may differ. FailedPrecondition names both;
// InvalidArgument if `theirs` is no version.
absl::Status CheckVersion(absl::string_view ours, absl::string_view theirs);

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_VERSION_RULE_H_
