#ifndef ORCHESTRATOR_CORE_RECORD_MAKER_H_
#define ORCHESTRATOR_CORE_RECORD_MAKER_H_

#include <functional>
#include <string>

#include "orchestrator/core/agreed_record.h"
#include "orchestrator/plan/plan_request.h"
#include "orchestrator/plan/record.h"

namespace autobatch {

// How records of a run are made.
struct RecordOptions {
  PlanRequest request;
  // Every device takes its own batch in the present world; otherwise all take the minimum.
  bool per_device_shares = false;
  DigestFunction digest;
  // The date that is written into a record, RFC 3339; nothing depends on it.
  std::function<std::string()> created;
};

// Plans with orchestrator/plan. The world is one rank for each rank of the members, divided by the
// request's processes a replica; FailedPrecondition if they do not divide it.
RecordMaker MakeRecordMaker(RecordOptions options);

// ReadRecord(), with that digest.
RecordChecker MakeRecordChecker(DigestFunction digest);

}  // namespace autobatch

#endif  // ORCHESTRATOR_CORE_RECORD_MAKER_H_
