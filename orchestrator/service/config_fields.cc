#include "orchestrator/service/config_fields.h"

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/enum_names.h"
#include "autobatch/types/json.h"
#include "orchestrator/wire/message_rules.h"

namespace autobatch {
namespace {

template <typename T>
std::string OrDefault(const std::optional<T>& value) {
  return value.has_value() ? absl::StrCat(*value) : "default";
}

}  // namespace

absl::StatusOr<std::vector<NamedValue>> ConfigFields(const ProbeSpec& spec,
                                                     const WorkloadSpec& workload,
                                                     const DigestFunction& digest) {
  WorkloadSpec named = workload;
  std::vector<NamedValue> fields;
  if (workload.kind == WorkloadKind::kTorchScript) {
    AB_ASSIGN_OR_RETURN(const std::string file, ReadFile(workload.name));
    named.name = std::filesystem::path(workload.name).filename().string();
    fields.push_back({"workload.file", digest(file)});
  }
  const boost::json::value json = ToJsonValue(named);
  for (const auto& [name, value] : json.get_object()) {
    fields.push_back(
        {absl::StrCat("workload.", std::string(name)), PlainText(boost::json::serialize(value))});
  }
  const auto probe = [&fields](absl::string_view name, std::string value) {
    fields.push_back({absl::StrCat("probe.", name), std::move(value)});
  };
  probe("strategy", EnumName(spec.strategy));
  probe("max_batch", absl::StrCat(spec.max_batch));
  probe("multiple_of", absl::StrCat(spec.multiple_of));
  probe("power_of_two", spec.power_of_two ? "true" : "false");
  probe("throughput_knee", spec.throughput_knee ? "true" : "false");
  probe("accumulation", absl::StrCat(spec.accumulation));
  probe("confirm_steps", absl::StrCat(spec.confirm_steps));
  probe("dataset_size", OrDefault(spec.dataset_size));
  probe("world_size", OrDefault(spec.world_size));
  probe("headroom_bytes", OrDefault(spec.headroom_bytes));
  probe("headroom_fraction", OrDefault(spec.headroom_fraction));
  return fields;
}

std::string ConfigDigest(std::span<const NamedValue> fields, const DigestFunction& digest) {
  std::vector<NamedValue> sorted(fields.begin(), fields.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const NamedValue& a, const NamedValue& b) { return a.name < b.name; });
  return digest(ToJson(sorted));
}

}  // namespace autobatch
