#include "orchestrator/core/option_changes.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

std::string Change(absl::string_view name, absl::string_view before, absl::string_view now) {
  const auto shown = [](absl::string_view value) { return value.empty() ? "not given" : value; };
  return absl::StrCat(name, ": ", shown(before), " -> ", shown(now));
}

}  // namespace

OptionChanges ChangesSince(const CoordinatorState& state, const CoordinatorConfig& config) {
  OptionChanges changes;
  const auto limit = [&](absl::string_view name, int64_t before, int64_t now) {
    if (before == 0 || before == now) return;
    changes.words.push_back(Change(name, absl::StrCat(before), absl::StrCat(now)));
    changes.of_limits = true;
  };
  limit("--min-nodes", state.min_nodes, config.min_nodes);
  limit("--max-nodes", state.max_nodes, config.max_nodes);
  if (state.options.empty()) return changes;
  std::map<std::string, std::pair<std::string, std::string>> options;
  for (const NamedValue& option : state.options) options[option.name].first = option.value;
  for (const NamedValue& option : config.options) options[option.name].second = option.value;
  for (const auto& [name, values] : options) {
    if (values.first == values.second) continue;
    changes.words.push_back(Change(name, values.first, values.second));
    changes.of_record = true;
  }
  return changes;
}

bool AskForAnotherRecord(const OptionChanges& changes, const CoordinatorConfig& config,
                         int64_t nodes) {
  const bool within = nodes >= config.min_nodes && nodes <= config.max_nodes;
  return changes.of_record || (changes.of_limits && !within);
}

}  // namespace autobatch
