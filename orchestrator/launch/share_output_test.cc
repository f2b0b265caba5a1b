#include "orchestrator/launch/share_output.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"

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

}  // namespace
}  // namespace autobatch
