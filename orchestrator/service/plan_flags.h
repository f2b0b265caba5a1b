#ifndef ORCHESTRATOR_SERVICE_PLAN_FLAGS_H_
#define ORCHESTRATOR_SERVICE_PLAN_FLAGS_H_

#include <boost/describe.hpp>
#include <boost/program_options.hpp>

#include "absl/status/status.h"
#include "autobatch/probe/flag_reader.h"
#include "orchestrator/plan/plan_request.h"

namespace autobatch {

// Whether every device takes the minimum, or each its own batch.
enum class SharesRule { kSame, kDevice };
BOOST_DESCRIBE_ENUM(SharesRule, kSame, kDevice)

// What the user wants of the global batch.
struct PlanFlags {
  PlanRequest request;
  SharesRule shares = SharesRule::kSame;
};

boost::program_options::options_description PlanOptions();

// Errors as ValidateRequest's.
absl::Status ReadPlanFlags(FlagReader& read, PlanFlags& flags);

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_PLAN_FLAGS_H_
