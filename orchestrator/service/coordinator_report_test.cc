#include "orchestrator/service/coordinator_report.h"

#include <gmock/gmock.h>

#include "autobatch/report/schema_comparison.h"
#include "autobatch/types/json.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

coordinator::RoundEnded Committed(int64_t round, int64_t batch = 24) {
  const Record record{.run_id = "job", .round = round, .minimum_batch = batch, .world_size = 2};
  return {.round = round,
          .committed = true,
          .digest = "d",
          .record = std::make_shared<const std::string>(RecordText(record)),
          .nodes = {
              {"n1", {{.uuid = "GPU-a", .status = ResultStatus::kConfirmed, .batch = batch}}},
              {"n2", {{.uuid = "GPU-b", .status = ResultStatus::kConfirmed, .batch = 4 * batch}}}}};
}

TEST(CoordinatorReportTest, CommittedRound_SaysWhatAndWhoSetsIt) {
  CoordinatorReport report;
  AddRound(report, Committed(3));
  AddConfirmation(report, {.round = 3, .confirmed = {"n1"}, .missing = {"n2"}});
  const RoundReport& round = report.rounds.back();
  ASSERT_TRUE(round.straggler.has_value());
  EXPECT_EQ(round.straggler->node, "n1");
  EXPECT_THAT(round.unconfirmed, ElementsAre("n2"));
  const std::string text = CommitText(round);
  EXPECT_THAT(text, HasSubstr("batch 24 on each of 2 ranks"));
  EXPECT_THAT(text, HasSubstr("n1"));
  const auto back = FromJson<CoordinatorReport>(ToJson(report));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->rounds[0].record->minimum_batch, 24);
}

TEST(CoordinatorReportTest, Text_WritesEveryCountInOneForm) {
  CoordinatorReport report;
  AddRound(report, Committed(3, 2400));
  const std::string text = CommitText(report.rounds.back());
  EXPECT_THAT(text, HasSubstr("batch 2,400 on each of 2 ranks"));
  EXPECT_THAT(text, HasSubstr("2,400 × 2 devices = 4,800 samples"));
}

TEST(CoordinatorReportTest, AbortedRound_SaysWhyAndWhoIsMissing) {
  CoordinatorReport report;
  AddRound(report, {.round = 4, .reason = "no report in time", .missing = {"n1", "n7"}});
  EXPECT_EQ(report.rounds[0].reason, "no report in time");
  EXPECT_THAT(report.rounds[0].missing, ElementsAre("n1", "n7"));
  EXPECT_FALSE(report.rounds[0].straggler.has_value());
}

TEST(CoordinatorReportTest, ManyRounds_OldestAreForgotten) {
  CoordinatorReport report;
  for (int64_t round = 1; round <= 150; ++round) AddRound(report, {.round = round});
  ASSERT_THAT(report.rounds, SizeIs(100));
  EXPECT_EQ(report.rounds.front().round, 51);
}

TEST(CoordinatorReportTest, Schema_SaysWhatIsWrittenFieldByField) {
  EXPECT_THAT(
      SchemaComparison::FileDifferences<CoordinatorReport>(
          "orchestrator/service/schema/coordinator_report.v1.json",
          {"orchestrator/plan/schema/plan.v1.json", "orchestrator/plan/schema/record.v1.json"}),
      ::testing::IsEmpty());
}

}  // namespace
}  // namespace autobatch
