#include "orchestrator/core/record_maker.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

// No cryptography: any function of the text will do.
std::string TestDigest(absl::string_view text) {
  return absl::StrCat("t-", std::hash<std::string>()(std::string(text)));
}

RecordOptions Options() {
  RecordOptions options;
  options.digest = TestDigest;
  options.created = [] { return "2026-01-01T00:00:00Z"; };
  return options;
}

RoundFacts Facts() {
  RoundFacts facts{.run_id = "r",
                   .round = 7,
                   .config_digest = "c",
                   .workload = "resnet18",
                   .minimum_batch = 32,
                   .minimum_node = "b",
                   .minimum_device = "GPU-b-0"};
  facts.members.push_back({.agent = "a",
                           .ranks = 2,
                           .devices = {{.uuid = "GPU-a-0", .batch = 64},
                                       {.uuid = "GPU-a-1", .batch = 48},
                                       {.uuid = "GPU-a-2", .batch = 48}}});
  facts.members.push_back(
      {.agent = "b", .ranks = 1, .devices = {{.uuid = "GPU-b-0", .batch = 32}}});
  return facts;
}

TEST(RecordMakerTest, Record_IsPlannedForTheRanksAndCheckedByItsDigest) {
  const auto agreed = MakeRecordMaker(Options())(Facts());
  ASSERT_TRUE(agreed.ok()) << agreed.status();
  EXPECT_TRUE(agreed->shares.empty());
  const auto record = ReadRecord(agreed->text, TestDigest);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->world_size, 3);
  EXPECT_EQ(record->minimum_batch, 32);
  EXPECT_EQ(record->round, 7);
  EXPECT_EQ(RowFor(record->plan, 3)->global_batch, 96);
  const auto checked = MakeRecordChecker(TestDigest)(agreed->text);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->run_id, "r");
  EXPECT_EQ(checked->round, 7);
  EXPECT_EQ(checked->digest, agreed->digest);
}

TEST(RecordMakerTest, SameFacts_AreTheSameBytes) {
  EXPECT_EQ(MakeRecordMaker(Options())(Facts())->text, MakeRecordMaker(Options())(Facts())->text);
}

TEST(RecordMakerTest, SharesOfDevices_AreThoseThatHaveARank) {
  RecordOptions options = Options();
  options.per_device_shares = true;
  const auto agreed = MakeRecordMaker(options)(Facts());
  ASSERT_TRUE(agreed.ok()) << agreed.status();
  ASSERT_EQ(agreed->shares.size(), 2u);
  EXPECT_EQ(agreed->shares[0].shares.size(), 2u);
  const auto record = ReadRecord(agreed->text, TestDigest);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->shares_digest, SharesDigest(agreed->shares, TestDigest));
  EXPECT_EQ(RowFor(record->plan, 3)->global_batch, 64 + 48 + 32);
}

TEST(RecordMakerTest, ModelParallelRanks_CountOnceAndMustDivideTheWorld) {
  RecordOptions options = Options();
  options.request.model_parallel_size = 3;
  EXPECT_EQ(ReadRecord(MakeRecordMaker(options)(Facts())->text, TestDigest)->world_size, 1);
  options.request.model_parallel_size = 2;
  const auto agreed = MakeRecordMaker(options)(Facts());
  EXPECT_EQ(agreed.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(agreed.status().message(), HasSubstr("3 ranks"));
}

TEST(RecordMakerTest, ChangedText_IsNotBelieved) {
  std::string text = MakeRecordMaker(Options())(Facts())->text;
  const size_t at = text.find("\"minimum_batch\":32");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 18, "\"minimum_batch\":33");
  EXPECT_FALSE(MakeRecordChecker(TestDigest)(text).ok());
  EXPECT_FALSE(MakeRecordChecker(TestDigest)("{}").ok());
}

TEST(RecordMakerTest, WishThatThisWorldCannotHave_IsSaidSo) {
  RecordOptions options = Options();
  options.request.rule = GlobalBatchRule::kExact;
  options.request.global_batch = 2;
  EXPECT_EQ(MakeRecordMaker(options)(Facts()).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace autobatch
