#ifndef ORCHESTRATOR_SERVICE_GLOBAL_BATCH_FLAGS_H_
#define ORCHESTRATOR_SERVICE_GLOBAL_BATCH_FLAGS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "autobatch/probe/flag_group.h"
#include "autobatch/probe/flag_reader.h"
#include "orchestrator/plan/plan_request.h"

namespace autobatch {

// What every program that makes a plan is asked of the global batch, under one name each.
FlagGroup GlobalBatchOptions();

// All of the request but its world sizes. Without --rule, what is given says which one is meant.
// Errors are the reader's; the request is not validated.
void ReadGlobalBatchFlags(FlagReader& read, PlanRequest& request);

// What a field of the request is called on the command line: "--band" for band_percent. World sizes
// have a flag of each program's own: "--min-" and this.
std::string GlobalBatchFlag(absl::string_view field, absl::string_view world_flag);

// ValidateRequest's error, with the flags that were typed in place of the fields.
absl::Status InGlobalBatchFlags(const absl::Status& status, absl::string_view world_flag);

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_GLOBAL_BATCH_FLAGS_H_
