// Holds schema/node_report.v1.json against the structs that are written, field by field and both
// ways, and the comparison against changes.

#include "autobatch/report/schema_comparison.h"

#include <gmock/gmock.h>

#include <boost/describe.hpp>

#include "autobatch/report/schema_refs.h"
#include "autobatch/types/report.h"

namespace autobatch {
namespace {

using boost::json::object;

object NodeSchema() {
  const auto schema = ReadSchema("autobatch/report/schema/node_report.v1.json");
  EXPECT_TRUE(schema.ok()) << schema.status();
  return schema.value_or(object());
}

std::vector<std::string> Differences(const object& schema) {
  return SchemaComparison::Differences<NodeReport>(schema, "report");
}

TEST(SchemaTest, EveryField_IsDescribedAndEveryDescriptionHasItsField) {
  EXPECT_THAT(Differences(NodeSchema()), ::testing::IsEmpty());
}

TEST(SchemaTest, AnyChange_IsADifference) {
  const auto differences = [](const auto& change) {
    object schema = NodeSchema();
    change(schema);
    return Differences(schema);
  };
  const auto def = [](object& schema, const char* name) -> object& {
    return schema.at("$defs").at(name).as_object();
  };
  using ::testing::Contains;
  using ::testing::HasSubstr;
  EXPECT_THAT(
      differences([&](object& s) { def(s, "Margin").at("properties").as_object().erase("bytes"); }),
      Contains("report.devices[].margins[].bytes is not in the schema"));
  EXPECT_THAT(differences([&](object& s) {
                def(s, "Margin").at("properties").as_object()["weight"] = object();
              }),
              Contains("report.devices[].margins[].weight is in no struct"));
  EXPECT_THAT(
      differences([&](object& s) { def(s, "BatchBound").at("enum").as_array().pop_back(); }),
      Contains(HasSubstr("has other values")));
  EXPECT_THAT(differences([&](object& s) { s.at("properties").at("exit_code") = object(); }),
              Contains(HasSubstr("is not of type \"integer\"")));
  EXPECT_THAT(differences([&](object& s) {
                s.at("properties").at("schema").as_object()["const"] = "autobatch.node_report.v2";
              }),
              Contains("report is not of version autobatch.node_report.v1"));
  EXPECT_THAT(differences([&](object& s) { s["$schema"] = "draft-07"; }),
              Contains(HasSubstr("report has another $schema")));
  EXPECT_THAT(differences([&](object& s) { s.at("$defs").as_object()["Unused"] = object(); }),
              Contains("Unused is used by nothing"));
}

// A document with a report inside, by its schema's name.
struct Letter {
  std::string schema = "autobatch.letter.v1";
  NodeReport report;
  std::vector<Margin> margins;
};
BOOST_DESCRIBE_STRUCT(Letter, (), (schema, report, margins))

TEST(SchemaTest, OtherSchema_IsComparedWhereItIsReferredTo) {
  const object letter = boost::json::parse(R"({
      "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "$defs": {},
      "properties": {"schema": {"type": "string", "description": "d", "const": "autobatch.letter.v1"},
                     "report": {"$ref": "urn:autobatch:node_report:v1"},
                     "margins": {"type": "array", "description": "d", "items":
                         {"$ref": "urn:autobatch:node_report:v1#/$defs/Margin"}}},
      "required": ["schema", "report", "margins"]})")
                            .as_object();
  object report = NodeSchema();
  const auto differences = [&](const std::vector<object>& others) {
    return SchemaComparison::Differences<Letter>(letter, "letter", others);
  };
  EXPECT_THAT(differences({report}), ::testing::IsEmpty());
  EXPECT_THAT(differences({}),
              ::testing::Contains("letter.report refers to a schema that is not here"));
  report.at("$defs").at("Margin").at("properties").as_object().erase("bytes");
  EXPECT_THAT(
      differences({report}),
      ::testing::IsSupersetOf({"letter.report.devices[].margins[].bytes is not in the schema",
                               "letter.margins[].bytes is not in the schema"}));
}

}  // namespace
}  // namespace autobatch
