#ifndef ORCHESTRATOR_SERVICE_PLAN_FLAGS_H_
#define ORCHESTRATOR_SERVICE_PLAN_FLAGS_H_

#include <boost/describe.hpp>
#include <boost/program_options.hpp>
#include <vector>

#include "absl/status/status.h"
#include "autobatch/probe/flag_reader.h"
#include "orchestrator/plan/plan_request.h"
#include "orchestrator/wire/agent_messages.h"

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

// Errors as ValidateRequest's, by the flags.
absl::Status ReadPlanFlags(FlagReader& read, PlanFlags& flags);

// Every flag and its value, defaults included; empty: not given, and without a default.
std::vector<NamedValue> PlanFlagValues(const PlanFlags& flags);

}  // namespace autobatch

#endif  // ORCHESTRATOR_SERVICE_PLAN_FLAGS_H_
