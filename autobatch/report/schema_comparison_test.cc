// Holds schema/node_report.v1.json against the structs that are written, field by field and both
// ways, and the comparison against changes.

#include "autobatch/report/schema_comparison.h"

#include <gmock/gmock.h>

#include "autobatch/types/report.h"

namespace autobatch {
namespace {

using boost::json::object;
using boost::json::value;

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

TEST(SchemaTest, Version_IsTheOneThatIsWritten) {
  const object schema = NodeSchema();
  EXPECT_EQ(schema.at("properties").at("schema").at("const"), value(kNodeReportSchema));
  EXPECT_EQ(schema.at("$schema"), value("https://json-schema.org/draft/2020-12/schema"));
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
  EXPECT_THAT(differences([&](object& s) { s.at("$defs").as_object()["Unused"] = object(); }),
              Contains("Unused is used by nothing"));
}

}  // namespace
}  // namespace autobatch
