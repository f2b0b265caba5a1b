#include "orchestrator/service/worker_request.h"

#include <gmock/gmock.h>

#include "autobatch/report/schema_comparison.h"

namespace autobatch {
namespace {

TEST(WorkerRequestTest, Schemas_SayWhatGoesOverTheSocketFieldByField) {
  EXPECT_THAT(SchemaComparison::FileDifferences<WorkerRequest>(
                  "orchestrator/service/schema/worker_request.v1.json"),
              ::testing::IsEmpty());
  EXPECT_THAT(SchemaComparison::FileDifferences<WorkerReply>(
                  "orchestrator/service/schema/worker_reply.v1.json",
                  {"orchestrator/plan/schema/plan.v1.json"}),
              ::testing::IsEmpty());
}

}  // namespace
}  // namespace autobatch
