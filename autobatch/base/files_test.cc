#include "autobatch/base/files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

std::string Folder(absl::string_view name) {
  const std::string folder = absl::StrCat(testing::TempDir(), "/files_test_", name);
  std::filesystem::remove_all(folder);
  return folder;
}

TEST(WriteFileAtomicallyTest, NewFolder_IsMadeAndNothingElseIsLeft) {
  const std::string folder = Folder("new");
  ASSERT_TRUE(WriteFileAtomically(folder + "/a/b.json", "one").ok());
  ASSERT_TRUE(WriteFileAtomically(folder + "/a/b.json", "two").ok());
  EXPECT_EQ(*ReadFile(folder + "/a/b.json"), "two");
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder + "/a")) {
    ++files;
  }
  EXPECT_EQ(files, 1);
}

TEST(WriteFileAtomicallyTest, FullDisk_IsAnErrorThatNamesThePath) {
  const absl::Status status = WriteFileAtomically("/dev/full", "text");
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("/dev/full"));
}

TEST(CheckFileCanBeWrittenTest, PlaceThatCan_IsLeftAsItWas) {
  const std::string folder = Folder("check");
  std::filesystem::create_directory(folder);
  ASSERT_TRUE(CheckFileCanBeWritten(folder + "/b.json").ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  ASSERT_TRUE(WriteFileAtomically(folder + "/b.json", "one").ok());
  ASSERT_TRUE(CheckFileCanBeWritten(folder + "/b.json").ok());
  EXPECT_EQ(*ReadFile(folder + "/b.json"), "one");
  EXPECT_TRUE(CheckFileCanBeWritten("/dev/null").ok());
}

TEST(CheckFileCanBeWrittenTest, FolderThatIsNotThere_IsNamedAndNotMade) {
  const std::string folder = Folder("missing");
  const absl::Status status = CheckFileCanBeWritten(folder + "/a/b.json");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("there is no folder " + folder + "/a"));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(CheckFileCanBeWrittenTest, Folder_IsNoFile) {
  const absl::Status status = CheckFileCanBeWritten(testing::TempDir());
  EXPECT_THAT(std::string(status.message()), HasSubstr("Is a directory"));
}

TEST(CheckFileCanBeWrittenTest, PlaceThatCannot_IsNamed) {
  const absl::Status status = CheckFileCanBeWritten("/proc/none/report.json");
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("/proc/none/report.json"));
}

TEST(WriteFileAtomicallyTest, FolderThatCannotBeMade_SaysWhy) {
  const absl::Status status = WriteFileAtomically("/dev/null/folder/file", "text");
  EXPECT_THAT(std::string(status.message()), HasSubstr("/dev/null/folder/file"));
  EXPECT_EQ(status.code(), absl::ErrnoToStatusCode(ENOTDIR));
  EXPECT_FALSE(WriteFileAtomically("/proc/self/folder/file", "text").ok());
}

TEST(WriteFileAtomicallyTest, ParentIsAFile_NamesThePathAndKeepsTheOldOne) {
  const std::string folder = Folder("file");
  ASSERT_TRUE(WriteFileAtomically(folder + "/plain", "kept").ok());
  const absl::Status status = WriteFileAtomically(folder + "/plain/below", "text");
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("plain/below"));
  EXPECT_EQ(*ReadFile(folder + "/plain"), "kept");
}

TEST(SyncFolderOfTest, FolderThatIsNotThere_IsNamed) {
  const std::string folder = Folder("sync");
  EXPECT_THAT(std::string(SyncFolderOf(folder + "/a").message()), HasSubstr(folder));
  ASSERT_TRUE(WriteFileAtomically(folder + "/a", "text").ok());
  EXPECT_TRUE(SyncFolderOf(folder + "/a").ok());
}

TEST(ReadFileTest, PipeWithoutWriter_IsEmptyAndNotWaitedFor) {
  const std::string folder = Folder("pipe");
  std::filesystem::create_directories(folder);
  ASSERT_EQ(mkfifo((folder + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(*ReadFile(folder + "/pipe"), "");
}

TEST(ReadFileTest, MissingFile_IsNotFound) {
  const auto content = ReadFile("/no/such/file");
  EXPECT_EQ(content.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(content.status().message()), HasSubstr("/no/such/file"));
}

TEST(ResolveUserPathTest, BazelRun_ResolvesWhereTheUserStood) {
  setenv("BUILD_WORKING_DIRECTORY", "/home/user", 1);
  EXPECT_EQ(ResolveUserPath("out.json"), "/home/user/out.json");
  EXPECT_EQ(ResolveUserPath("/abs/out.json"), "/abs/out.json");
  unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_EQ(ResolveUserPath("out.json"), "out.json");
}

}  // namespace
}  // namespace autobatch
