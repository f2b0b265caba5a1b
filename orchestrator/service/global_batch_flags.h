#ifndef ORCHESTRATOR_SERVICE_GLOBAL_BATCH_FLAGS_H_
#define ORCHESTRATOR_SERVICE_GLOBAL_BATCH_FLAGS_H_

#include "autobatch/probe/flag_group.h"
#include "autobatch/probe/flag_reader.h"
#include "orchestrator/plan/plan_request.h"

namespace autobatch {

// What every program that makes a plan is asked of the global batch, under one name each.
FlagGroup GlobalBatchOptions();

// All of the request but its world sizes. Without --rule, what is given says which one is meant.
// Errors are the reader's; the request is not validated.
void ReadGlobalBatchFlags(FlagReader& read, PlanRequest& request);

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_GLOBAL_BATCH_FLAGS_H_
