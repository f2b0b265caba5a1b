#include "autobatch/report/schema_refs.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "autobatch/base/files.h"
#include "autobatch/base/status_macros.h"
#include "autobatch/types/json.h"

namespace autobatch {

using boost::json::object;
using boost::json::value;

absl::StatusOr<object> ReadSchema(const std::string& path) {
  AB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  AB_ASSIGN_OR_RETURN(value json, ParseJson(text));
  if (json.is_object()) return std::move(json.as_object());
  return absl::InvalidArgumentError(absl::StrCat(path, " is no object"));
}

absl::StatusOr<std::vector<object>> ReadSchemas(const std::vector<std::string>& paths) {
  std::vector<object> schemas;
  for (const std::string& path : paths) {
    AB_ASSIGN_OR_RETURN(object schema, ReadSchema(path));
    schemas.push_back(std::move(schema));
  }
  return schemas;
}

std::string SchemaVersion(const object& schema) {
  const value* node = schema.if_contains("properties");
  for (const char* key : {"schema", "const"}) {
    const object* inside = node == nullptr ? nullptr : node->if_object();
    node = inside == nullptr ? nullptr : inside->if_contains(key);
  }
  return node != nullptr && node->is_string() ? std::string(node->as_string()) : "";
}

SchemaRefs::Target SchemaRefs::Find(absl::string_view ref, const object& within) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(ref, absl::MaxSplits('#', 1));
  Target target{.document = parts.first.empty() ? &within : nullptr};
  for (const object& other : others_) {
    if (other.at("$id") == value(parts.first)) target.document = &other;
  }
  if (target.document == nullptr) return target;
  if (parts.second.empty()) {
    target.node = target.document;
    return target;
  }
  target.name = std::string(absl::StripPrefix(parts.second, "/$defs/"));
  if (target.document == &schema_) used_.insert(target.name);
  const value* node = target.document->at("$defs").as_object().if_contains(target.name);
  target.node = node == nullptr ? nullptr : node->if_object();
  return target;
}

std::vector<std::string> SchemaRefs::Unused() const {
  std::vector<std::string> unused;
  for (const auto& [name, definition] : schema_.at("$defs").as_object()) {
    if (used_.count(std::string(name)) == 0) unused.emplace_back(name);
  }
  return unused;
}

}  // namespace autobatch
