#ifndef AUTOBATCH_REPORT_SCHEMA_REFS_H_
#define AUTOBATCH_REPORT_SCHEMA_REFS_H_

#include <boost/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// A schema's file, and several.
absl::StatusOr<boost::json::object> ReadSchema(const std::string& path);
absl::StatusOr<std::vector<boost::json::object>> ReadSchemas(const std::vector<std::string>& paths);

// What a document's field `schema` has to be; empty where the schema does not say.
std::string SchemaVersion(const boost::json::object& schema);

// What the $refs of a JSON schema lead to: its own definitions (#/$defs/NAME), other schemas by
// their $id, and those' definitions ($id#/$defs/NAME).
class SchemaRefs {
 public:
  // Both have to outlive this.
  SchemaRefs(const boost::json::object& schema, const std::vector<boost::json::object>& others)
      : schema_(schema), others_(others) {}

  // `document`: where further $refs count from; null where there is none of this $id. `name`: the
  // definition's; empty: the document as a whole. `node`: null where there is no such definition.
  struct Target {
    const boost::json::object* document = nullptr;
    std::string name;
    const boost::json::object* node = nullptr;
  };
  Target Find(absl::string_view ref, const boost::json::object& within);

  // Definitions of the schema that no Find() led to.
  std::vector<std::string> Unused() const;

 private:
  const boost::json::object& schema_;
  const std::vector<boost::json::object>& others_;
  std::set<std::string> used_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_REPORT_SCHEMA_REFS_H_
