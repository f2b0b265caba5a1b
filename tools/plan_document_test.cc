#include "tools/plan_document.h"

#include <gmock/gmock.h>

#include "autobatch/report/schema_comparison.h"

namespace autobatch {
namespace {

TEST(PlanDocumentTest, Schema_SaysWhatIsWrittenFieldByField) {
  const auto schema = ReadSchema("orchestrator/plan/schema/plan.v1.json");
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_THAT(SchemaComparison::Differences<PlanDocument>(*schema, "plan"), ::testing::IsEmpty());
  EXPECT_EQ(schema->at("properties").at("schema").at("const"),
            boost::json::value(kPlanDocumentSchema));
}

}  // namespace
}  // namespace autobatch
