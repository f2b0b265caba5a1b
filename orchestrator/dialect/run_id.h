#ifndef ORCHESTRATOR_DIALECT_RUN_ID_H_
#define ORCHESTRATOR_DIALECT_RUN_ID_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "orchestrator/dialect/launcher_facts.h"

namespace autobatch {

inline constexpr size_t kLongestRunId = 128;

// OK for 1 to 128 of [A-Za-z0-9._:-] that are not a launcher's default for "none given": two jobs
// with the run id "none" would join each other.
absl::Status CheckRunId(absl::string_view run_id);

// `given`, else the launcher's own. InvalidArgument where neither is there or fit.
absl::StatusOr<std::string> ChooseRunId(absl::string_view given, const LauncherFacts& facts);

// The port on which a run's coordinator listens unless one is given: from 20,000 to 32,767, below
// the ephemeral ports. Every node computes the same, and neighbours' runs rarely share one.
int64_t PortOfRun(absl::string_view run_id);

}  // namespace autobatch

#endif  // ORCHESTRATOR_DIALECT_RUN_ID_H_
