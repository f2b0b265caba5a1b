#include "orchestrator/plan/record.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// No cryptography here: it only has to differ when a byte does.
DigestFunction DigestWith(const std::string& key) {
  return [key](absl::string_view bytes) {
    uint64_t hash = 14695981039346656037u;
    for (const char c : absl::StrCat(key, bytes)) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    }
    return absl::StrCat(absl::Hex(hash, absl::kZeroPad16));
  };
}

const DigestFunction& Digest() {
  static const auto* digest = new DigestFunction(DigestWith("secret"));
  return *digest;
}

Record Facts() {
  return {.run_id = "run-7",
          .round = 3,
          .autobatch_version = "0.1.0",
          .created = "2026-11-30T18:00:00+00:00",
          .config_digest = "c0ffee",
          .workload = "resnet50",
          .minimum_batch = 77,
          .minimum_node = "node-b",
          .minimum_device = "GPU-b1",
          .world_size = 8,
          .request = {.rule = GlobalBatchRule::kExact,
                      .global_batch = 512,
                      .min_world_size = 2,
                      .max_world_size = 10,
                      .dataset_size = 10000},
          .shares_digest = "5ade"};
}

Record Made() {
  const absl::StatusOr<Record> record = MakeRecord(Facts(), {}, Digest());
  EXPECT_TRUE(record.ok()) << record.status();
  return record.value_or(Record{});
}

TEST(Record, WhatIsMade_ReadsBackToTheByte) {
  const Record record = Made();
  EXPECT_EQ(record.plan.rows.size(), 9u);
  EXPECT_EQ(record.digest.size(), 16u);
  const absl::StatusOr<Record> back = ReadRecord(RecordText(record), Digest());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(RecordText(*back), RecordText(record));
  EXPECT_EQ(RowFor(back->plan, 3)->global_batch, 512);
  EXPECT_EQ(RecordText(Made()), RecordText(record));
}

TEST(Record, EveryChangedByte_IsNoticed) {
  Record facts = Facts();
  facts.request.min_world_size = facts.world_size;
  facts.request.max_world_size = facts.world_size;
  const std::string text = RecordText(*MakeRecord(facts, {}, Digest()));
  int64_t refused = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == '1' ? '2' : '1';
    refused += ReadRecord(changed, Digest()).ok() ? 0 : 1;
  }
  EXPECT_EQ(refused, static_cast<int64_t>(text.size()));
  for (const size_t cut : {size_t{0}, text.size() / 2, text.size() - 1}) {
    EXPECT_FALSE(ReadRecord(text.substr(0, cut), Digest()).ok());
  }
}

TEST(Record, AnotherRunsSecret_DoesNotVerify) {
  const absl::StatusOr<Record> record = ReadRecord(RecordText(Made()), DigestWith("other"));
  EXPECT_EQ(record.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(record.status().message()), HasSubstr("belongs to another run"));
}

TEST(Record, EmptyOrMissingDigest_NeverVerifies) {
  Record record = Made();
  record.digest.clear();
  const DigestFunction nothing = [](absl::string_view) { return ""; };
  EXPECT_FALSE(ReadRecord(RecordText(record), Digest()).ok());
  EXPECT_FALSE(ReadRecord(RecordText(record), nothing).ok());
  const std::string without =
      absl::StrReplaceAll(RecordText(record), {{"\"digest\"", "\"other\""}});
  EXPECT_THAT(std::string(ReadRecord(without, Digest()).status().message()),
              HasSubstr("it has no digest"));
}

TEST(Record, FieldOfANewerVersion_CountsForTheDigestAndIsLeftAlone) {
  const std::string unsealed = absl::StrReplaceAll(
      RecordText(Made()), {{"\"round\":3", "\"round\":3,\"mood\":\"good\""}, {Made().digest, ""}});
  const std::string sealed = absl::StrReplaceAll(
      unsealed, {{"\"digest\":\"\"", absl::StrCat("\"digest\":\"", Digest()(unsealed), "\"")}});
  const absl::StatusOr<Record> record = ReadRecord(sealed, Digest());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->round, 3);
  EXPECT_FALSE(ReadRecord(absl::StrReplaceAll(sealed, {{"good", "baad"}}), Digest()).ok());
}

TEST(Record, SharesOfDevices_AreInThePresentWorldsRowOnly) {
  Record facts = Facts();
  facts.world_size = 2;
  facts.request.max_world_size = 3;
  facts.request.rule = GlobalBatchRule::kLargest;
  facts.request.global_batch.reset();
  const absl::StatusOr<Record> record =
      MakeRecord(facts, {{"GPU-a", 77}, {"GPU-b", 200}}, Digest());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->plan.rows[0].global_batch, 277);
  EXPECT_EQ(record->plan.rows[1].global_batch, 231);
  EXPECT_TRUE(ReadRecord(RecordText(*record), Digest()).ok());
  Record moved = *record;
  moved.world_size = 3;
  EXPECT_THAT(std::string(ValidateRecord(moved).message()), HasSubstr("devices 2"));
}

TEST(Record, Fallback_NamesNoDevice) {
  Record facts = Facts();
  facts.minimum_node.clear();
  EXPECT_THAT(std::string(MakeRecord(facts, {}, Digest()).status().message()),
              HasSubstr("minimum_node"));
  facts.minimum_device.clear();
  facts.fallback = true;
  EXPECT_TRUE(MakeRecord(facts, {}, Digest()).ok());
}

TEST(Record, WhatCannotBePlanned_IsNotMade) {
  Record facts = Facts();
  facts.request.global_batch = 4;
  EXPECT_EQ(MakeRecord(facts, {}, Digest()).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Record, NumbersThatDoNotAgree_AreNamed) {
  const struct {
    std::function<void(Record&)> change;
    const char* says;
  } cases[] = {
      {[](Record& r) { r.schema = "autobatch.record.v9"; }, "reads 'autobatch.record.v1'"},
      {[](Record& r) { r.run_id.clear(); }, "run_id"},
      {[](Record& r) { r.run_id.assign(2000, 'x'); }, "run_id of 2000 bytes"},
      {[](Record& r) { r.round = 0; }, "round 0"},
      {[](Record& r) { r.round = -5; }, "round -5"},
      {[](Record& r) { r.minimum_batch = 0; }, "minimum_batch 0"},
      {[](Record& r) { r.minimum_batch = kMost; }, "minimum_batch 9223372036854775807"},
      {[](Record& r) { r.minimum_batch = 60; }, "is above the safe 60"},
      {[](Record& r) { r.world_size = 0; }, "world_size 0"},
      {[](Record& r) { r.world_size = 11; }, "the present world size has no row"},
      {[](Record& r) { r.request.global_batch = 513; }, "global_batch 512: is not what"},
      {[](Record& r) { r.request.global_batch = -1; }, "global_batch -1"},
      {[](Record& r) { r.request.model_parallel_size = 2; }, "processes 2"},
      {[](Record& r) { r.request.dataset_size.reset(); }, "steps_per_epoch 20"},
      {[](Record& r) { r.request.dataset_size = 9999; }, "steps_per_epoch 20"},
      {[](Record& r) { r.plan.rows.clear(); }, "no row"},
      {[](Record& r) { r.plan.rows.resize(9000); }, "plan.rows 9000"},
      {[](Record& r) { std::swap(r.plan.rows[0], r.plan.rows[1]); }, "above the row's before it"},
      {[](Record& r) { r.plan.rows[3].groups[0].ranks = 77; }, "another number of ranks"},
      {[](Record& r) { r.plan.unserved = {{.first = 3, .last = 2, .reason = "x"}}; }, "3 to 2"},
      {[](Record& r) { r.plan.unserved = {{.first = 11, .last = 12}}; }, "11 to 12"},
  };
  for (const auto& [change, says] : cases) {
    Record record = Made();
    change(record);
    EXPECT_THAT(std::string(ValidateRecord(record).message()), HasSubstr(says));
  }
}

TEST(Record, LargestRule_BoundsTheGlobalBatch) {
  Record facts = Facts();
  facts.request = {.accumulation = 2, .min_world_size = 2};
  const absl::StatusOr<Record> record = MakeRecord(facts, {}, Digest());
  ASSERT_TRUE(record.ok()) << record.status();
  Record less = *record;
  less.request.accumulation = 1;
  EXPECT_THAT(std::string(ValidateRecord(less).message()), HasSubstr("global_batch 308"));
}

TEST(Record, TextThatIsNoRecord_IsRefused) {
  for (const char* text : {"", "{", "[]", "null", "{}", R"({"round": "three"})",
                           R"({"plan": {"rows": [{"groups": [{"ranks": 1e300}]}]}})"}) {
    EXPECT_FALSE(ReadRecord(text, Digest()).ok()) << text;
  }
}

TEST(SharesDigest, OrderOfNodesAndDevices_DoesNotMatter) {
  std::vector<NodeShares> shares = {{"b", {{"GPU-2", 8}, {"GPU-1", 9}}}, {"a", {{"GPU-3", 7}}}};
  const std::string digest = SharesDigest(shares, Digest());
  std::reverse(shares.begin(), shares.end());
  std::reverse(shares[1].shares.begin(), shares[1].shares.end());
  EXPECT_EQ(SharesDigest(shares, Digest()), digest);
  shares[0].shares[0].batch = 6;
  EXPECT_NE(SharesDigest(shares, Digest()), digest);
}

}  // namespace
}  // namespace autobatch
