#include <gmock/gmock.h>

#include "autobatch/report/schema_comparison.h"
#include "orchestrator/plan/record.h"

namespace autobatch {
namespace {

TEST(RecordSchemaTest, Schema_SaysWhatIsWrittenFieldByField) {
  const auto schema = ReadSchema("orchestrator/plan/schema/record.v1.json");
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_THAT(SchemaComparison::Differences<Record>(*schema, "record"), ::testing::IsEmpty());
  EXPECT_EQ(schema->at("properties").at("schema").at("const"), boost::json::value(kRecordSchema));
}

}  // namespace
}  // namespace autobatch
