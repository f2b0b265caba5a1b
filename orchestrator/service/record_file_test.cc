#include "orchestrator/service/record_file.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

RecordFile FileNamed(absl::string_view name) {
  const std::string folder = absl::StrCat(testing::TempDir(), "/record_file_test_", name);
  std::filesystem::remove_all(folder);
  return RecordFile(folder + "/record.json");
}

bool Exists(const std::string& path) { return std::filesystem::exists(path); }

TEST(RecordFileTest, PreparedRecord_IsNotLaunchable) {
  const RecordFile file = FileNamed("prepared");
  ASSERT_TRUE(file.Prepare("{\"round\": 1}").ok());
  EXPECT_EQ(file.Read().status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(Exists(file.path()));
}

TEST(RecordFileTest, Commit_LeavesTheRecordAndNothingElse) {
  const RecordFile file = FileNamed("commit");
  ASSERT_TRUE(file.Prepare("{\"round\": 1}").ok());
  ASSERT_TRUE(file.Commit().ok());
  EXPECT_EQ(*file.Read(), "{\"round\": 1}");
  EXPECT_FALSE(Exists(file.prepared_path()));
}

TEST(RecordFileTest, PrepareOfTheNextRound_TakesTheOlderRecordAway) {
  const RecordFile file = FileNamed("next");
  ASSERT_TRUE(file.Prepare("{\"round\": 1}").ok());
  ASSERT_TRUE(file.Commit().ok());
  ASSERT_TRUE(file.Prepare("{\"round\": 2}").ok());
  EXPECT_FALSE(Exists(file.path()));
}

TEST(RecordFileTest, PrepareThatFails_StillTakesTheOlderRecordAway) {
  const RecordFile file = FileNamed("failed");
  ASSERT_TRUE(file.Prepare("{\"round\": 1}").ok());
  ASSERT_TRUE(file.Commit().ok());
  // Stands for a full disk: what cannot be replaced by a file.
  std::filesystem::create_directory(file.prepared_path());
  EXPECT_FALSE(file.Prepare("{\"round\": 2}").ok());
  EXPECT_FALSE(Exists(file.path()));
}

TEST(RecordFileTest, FullDisk_IsAnErrorThatNamesThePath) {
  const RecordFile file = FileNamed("full");
  std::filesystem::create_directories(std::filesystem::path(file.path()).parent_path());
  std::filesystem::create_symlink("/dev/full", file.prepared_path());
  const absl::Status status = file.Prepare("{\"round\": 1}");
  EXPECT_EQ(status.code(), absl::ErrnoToStatusCode(ENOSPC));
  EXPECT_THAT(std::string(status.message()), HasSubstr(file.prepared_path()));
}

TEST(RecordFileTest, CommitOfNothing_IsRefused) {
  const RecordFile file = FileNamed("nothing");
  const absl::Status status = file.Commit();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr(file.prepared_path()));
}

TEST(RecordFileTest, Withdraw_LeavesNothingAndMayBeRepeated) {
  const RecordFile file = FileNamed("withdraw");
  EXPECT_TRUE(file.Withdraw().ok());
  ASSERT_TRUE(file.Prepare("{\"round\": 1}").ok());
  ASSERT_TRUE(file.Commit().ok());
  ASSERT_TRUE(WriteFileAtomically(file.prepared_path(), "{\"round\": 2}").ok());
  EXPECT_TRUE(file.Withdraw().ok());
  EXPECT_FALSE(Exists(file.path()));
  EXPECT_FALSE(Exists(file.prepared_path()));
  EXPECT_TRUE(file.Withdraw().ok());
}

}  // namespace
}  // namespace autobatch
