#include "orchestrator/service/plan_flags.h"

#include "autobatch/base/status_macros.h"
#include "orchestrator/service/global_batch_flags.h"

namespace autobatch {

namespace po = boost::program_options;

po::options_description PlanOptions() {
  return GlobalBatchOptions()
      .Value("shares", "S",
             "same: every device takes the minimum; device: each its own batch (default: same)")
      .Value("min-ranks", "N", "smallest world that gets a row (default: the present one)")
      .Value("max-ranks", "N", "largest world that gets a row (default: the present one)");
}

absl::Status ReadPlanFlags(FlagReader& read, PlanFlags& flags) {
  PlanRequest& request = flags.request;
  ReadGlobalBatchFlags(read, request);
  read.Enum("shares", flags.shares);
  read.Read("min-ranks", request.min_world_size, WholeNumber);
  read.Read("max-ranks", request.max_world_size, WholeNumber);
  AB_RETURN_IF_ERROR(read.status());
  return ValidateRequest(request);
}

}  // namespace autobatch
