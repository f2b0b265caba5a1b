#include "orchestrator/launch/share_output.h"

#include <gmock/gmock.h>

#include "absl/status/status.h"
#include "autobatch/base/files.h"
#include "autobatch/report/schema_comparison.h"
#include "autobatch/types/json.h"

namespace autobatch {
namespace {

TEST(TaskPrologLines_Variables, AreExportLinesAndNothingElse) {
  const std::vector<WorkerVariable> variables = {{"AUTOBATCH_RANK", "3"},
                                                 {"AUTOBATCH_RECORD", "/a b/$x/record.json"}};
  EXPECT_EQ(*TaskPrologLines(variables),
            "export AUTOBATCH_RANK=3\nexport AUTOBATCH_RECORD=/a b/$x/record.json\n");
}

TEST(TaskPrologLines_LineEnds, AreRefused) {
  const std::vector<WorkerVariable> variables = {{"AUTOBATCH_RECORD", "x\nexport LD_PRELOAD=y"}};
  EXPECT_TRUE(absl::IsInvalidArgument(TaskPrologLines(variables).status()));
}

TEST(ShellLines_Values, AreQuoted) {
  const std::vector<WorkerVariable> variables = {{"A", "3"}, {"B", "/a b/$x"}};
  EXPECT_EQ(ShellLines(variables), "export A=3\nexport B='/a b/$x'\n");
}

TEST(Publish_OutputOfAWorld, NamesWhatIsBesideIt) {
  const std::string folder = ::testing::TempDir() + "/shared";
  const std::string committed = ::testing::TempDir() + "/committed.json";
  ASSERT_TRUE(WriteFileAtomically(committed, "{\"any\":1}").ok());
  Record record;
  record.run_id = "job1";
  const LaunchOutput output =
      OutputOf(record, committed, {.variables = {{"AUTOBATCH_RECORD", committed}, {"A", "b c"}}});
  const absl::Status published = Publish(folder, output);
  ASSERT_TRUE(published.ok()) << published;
  EXPECT_EQ(*ReadFile(folder + "/record.json"), "{\"any\":1}");
  EXPECT_EQ(*ReadFile(folder + "/launch.env"),
            "export AUTOBATCH_RECORD=" + folder + "/record.json\nexport A='b c'\n");
  const auto read = FromJson<LaunchOutput>(*ReadFile(folder + "/launch.json"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->schema, "autobatch.launch.v1");
  EXPECT_EQ(read->record_path, folder + "/record.json");
  EXPECT_EQ(read->run_id, "job1");
  EXPECT_TRUE(absl::IsNotFound(Publish(folder, OutputOf(record, "/no/such", {}))));
}

TEST(LaunchOutput_Schema, SaysWhatIsWrittenFieldByField) {
  EXPECT_THAT(SchemaComparison::FileDifferences<LaunchOutput>(
                  "orchestrator/launch/schema/launch.v1.json",
                  {"orchestrator/plan/schema/plan.v1.json",
                   "orchestrator/service/schema/worker_reply.v1.json"}),
              ::testing::IsEmpty());
}

}  // namespace
}  // namespace autobatch
