#include "orchestrator/launch/stored_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autobatch/base/files.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

// Not cryptographic: it only has to differ.
DigestFunction Keyed(const std::string& key) {
  return [key](absl::string_view text) {
    return absl::StrCat(absl::Hex(std::hash<std::string>()(absl::StrCat(key, text))));
  };
}

Record SomeRecord() {
  const auto record = MakeFallbackRecord(
      {.run_id = "job1", .batch = 16, .world_size = 4, .last_round = 6}, Keyed("secret"));
  EXPECT_TRUE(record.ok()) << record.status();
  return record.value_or(Record());
}

std::string Stored(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/record.json";
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  return path;
}

std::string Error(const std::string& path, absl::string_view run_id, absl::StatusCode code,
                  const std::string& key = "secret") {
  const auto record = ReadStoredRecord(path, run_id, Keyed(key));
  EXPECT_EQ(record.status().code(), code) << record.status();
  return std::string(record.status().message());
}

TEST(ReadStoredRecord_OwnRecord, IsVerifiedAndReturned) {
  const std::string path = Stored(RecordText(SomeRecord()));
  for (const char* run_id : {"job1", ""}) {
    const auto record = ReadStoredRecord(path, run_id, Keyed("secret"));
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(record->minimum_batch, 16);
  }
}

TEST(ReadStoredRecord_AnythingElse, IsRefusedWithWhatToDo) {
  const std::string text = RecordText(SomeRecord());
  EXPECT_THAT(Error("/no/record.json", "job1", absl::StatusCode::kNotFound),
              HasSubstr("an agent or an init container"));
  EXPECT_THAT(Error(Stored(text), "job2", absl::StatusCode::kFailedPrecondition),
              HasSubstr("record of run 'job1', and --run-id is 'job2'"));
  EXPECT_THAT(Error(Stored(text), "job1", absl::StatusCode::kDataLoss, "other"),
              HasSubstr("--secret-file"));
  const std::string larger =
      absl::StrReplaceAll(text, {{"\"minimum_batch\":16", "\"minimum_batch\":64"}});
  ASSERT_NE(larger, text);
  Error(Stored(larger), "job1", absl::StatusCode::kDataLoss);
  EXPECT_THAT(Error(Stored(text.substr(0, text.size() / 2)), "", absl::StatusCode::kDataLoss),
              HasSubstr("record.json: "));
  Error(Stored(""), "", absl::StatusCode::kDataLoss);
}

TEST(MakeFallbackRecord_SameRequest, GivesTheSameBytesAndSaysSo) {
  const Record record = SomeRecord();
  EXPECT_TRUE(record.fallback);
  EXPECT_EQ(record.round, 7);
  EXPECT_EQ(record.created, "");
  EXPECT_EQ(RecordText(record), RecordText(SomeRecord()));
  EXPECT_EQ(RowFor(record.plan, 4)->micro_batch, 16);
  EXPECT_FALSE(MakeFallbackRecord({.run_id = "job1", .batch = 0, .world_size = 4}, Keyed("")).ok());
  const auto replicas = MakeFallbackRecord(
      {.run_id = "job1", .batch = 16, .world_size = 4, .plan = {.model_parallel_size = 2}},
      Keyed(""));
  ASSERT_TRUE(replicas.ok()) << replicas.status();
  EXPECT_EQ(RowFor(replicas->plan, 4)->global_batch, 32);
  EXPECT_FALSE(
      MakeFallbackRecord(
          {.run_id = "job1", .batch = 16, .world_size = 3, .plan = {.model_parallel_size = 2}},
          Keyed(""))
          .ok());
  EXPECT_THAT(FallbackWarning(16, "no answer"), HasSubstr("NO AGREEMENT"));
}

TEST(CheckRealDevices_Simulated, NeedsConsent) {
  EXPECT_TRUE(CheckRealDevices(false, false).ok());
  EXPECT_TRUE(CheckRealDevices(true, true).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(CheckRealDevices(true, false)));
}

}  // namespace
}  // namespace autobatch
