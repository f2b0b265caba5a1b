#include "orchestrator/service/plan_flags.h"

#include <boost/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/enum_names.h"
#include "autobatch/types/json.h"
#include "orchestrator/service/global_batch_flags.h"

namespace autobatch {

namespace po = boost::program_options;

namespace {

// --min-ranks, --max-ranks.
constexpr absl::string_view kWorldFlag = "ranks";

}  // namespace

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
  return InGlobalBatchFlags(ValidateRequest(request), kWorldFlag);
}

std::vector<NamedValue> PlanFlagValues(const PlanFlags& flags) {
  std::vector<NamedValue> values;
  const boost::json::value request = ToJsonValue(flags.request);
  for (const auto& [field, value] : request.get_object()) {
    values.push_back({GlobalBatchFlag(std::string(field), kWorldFlag),
                      value.is_null()     ? ""
                      : value.is_string() ? std::string(value.get_string())
                      : value.is_double() ? absl::StrCat(value.get_double())
                                          : boost::json::serialize(value)});
  }
  values.push_back({"--shares", EnumName(flags.shares)});
  return values;
}

}  // namespace autobatch
