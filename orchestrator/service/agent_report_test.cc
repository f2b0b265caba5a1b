#include "orchestrator/service/agent_report.h"

#include <gmock/gmock.h>

#include "autobatch/report/schema_comparison.h"

namespace autobatch {
namespace {

TEST(AgentReportTest, Schema_SaysWhatIsWrittenFieldByField) {
  EXPECT_THAT(SchemaComparison::FileDifferences<AgentReport>(
                  "orchestrator/service/schema/agent_report.v1.json",
                  {"orchestrator/plan/schema/record.v1.json",
                   "autobatch/report/schema/node_report.v1.json"}),
              ::testing::IsEmpty());
}

}  // namespace
}  // namespace autobatch
