#include <gmock/gmock.h>

#include "autobatch/report/schema_comparison.h"
#include "orchestrator/plan/record.h"

namespace autobatch {
namespace {

TEST(RecordSchemaTest, Schema_SaysWhatIsWrittenFieldByField) {
  EXPECT_THAT(SchemaComparison::FileDifferences<Record>("orchestrator/plan/schema/record.v1.json"),
              ::testing::IsEmpty());
}

}  // namespace
}  // namespace autobatch
