#include "orchestrator/core/config_difference.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace autobatch {
namespace {

// Bytes of a value that are shown: a command line may be long.
constexpr size_t kShown = 200;
// Fields that are named; the rest is counted.
constexpr size_t kNamed = 8;

bool IsOfNccl(const NamedValue& field) { return absl::StartsWith(field.name, "nccl."); }

std::string Shown(const std::optional<std::string>& value, absl::string_view agent) {
  if (!value.has_value()) return absl::StrCat("absent on ", agent);
  const bool cut = value->size() > kShown;
  return absl::StrCat("'", value->substr(0, kShown), cut ? "…" : "", "' on ", agent);
}

}  // namespace

std::string ConfigDifference(const SharedConfig& first, const SharedConfig& other) {
  // By name; the values on both sides.
  std::map<absl::string_view, std::pair<std::optional<std::string>, std::optional<std::string>>>
      fields;
  for (const NamedValue& field : first.fields) fields[field.name].first = field.value;
  for (const NamedValue& field : other.fields) fields[field.name].second = field.value;
  std::vector<std::string> differences;
  size_t more = 0;
  for (const auto& [name, values] : fields) {
    if (values.first == values.second) continue;
    if (differences.size() == kNamed) {
      ++more;
      continue;
    }
    differences.push_back(absl::StrCat(name, ": ", Shown(values.second, other.agent), ", ",
                                       Shown(values.first, first.agent)));
  }
  if (more > 0) differences.push_back(absl::StrCat("and ", more, " more settings"));
  if (differences.empty() && first.digest != other.digest) {
    return absl::StrCat("every setting that was sent is the same, and yet the digests differ: ",
                        other.digest, " on ", other.agent, ", ", first.digest, " on ", first.agent);
  }
  return absl::StrJoin(differences, "; ");
}

bool TakesPartInNccl(const std::vector<NamedValue>& fields) {
  return std::ranges::any_of(fields, IsOfNccl);
}

SharedConfig WithoutNccl(SharedConfig config) {
  std::erase_if(config.fields, IsOfNccl);
  config.digest.clear();
  return config;
}

}  // namespace autobatch
