#include "tools/plan_document.h"

#include <gmock/gmock.h>

#include "autobatch/report/schema_comparison.h"

namespace autobatch {
namespace {

TEST(PlanDocumentTest, Schema_SaysWhatIsWrittenFieldByField) {
  EXPECT_THAT(
      SchemaComparison::FileDifferences<PlanDocument>("orchestrator/plan/schema/plan.v1.json"),
      ::testing::IsEmpty());
}

}  // namespace
}  // namespace autobatch
