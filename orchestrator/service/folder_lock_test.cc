#include "orchestrator/service/folder_lock.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"

namespace autobatch {
namespace {

using ::testing::HasSubstr;

std::string Folder(absl::string_view name) {
  const std::string folder = absl::StrCat(testing::TempDir(), "/folder_lock_test/", name);
  std::filesystem::remove_all(folder);
  return folder;
}

TEST(FolderLockTest, SecondHolder_IsRefusedWithTheFirstsPid) {
  const std::string folder = Folder("twice");
  auto first = FolderLock::Acquire(folder);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = FolderLock::Acquire(folder);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(absl::StrCat(getpid(), ":")));
  first->reset();
  EXPECT_TRUE(FolderLock::Acquire(folder).ok());
}

TEST(FolderLockTest, NewFolder_IsItsOwnersOnly) {
  const std::string folder = Folder("new/below");
  ASSERT_TRUE(FolderLock::Acquire(folder).ok());
  struct stat found{};
  ASSERT_EQ(stat(folder.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, mode_t{0700});
}

TEST(FolderLockTest, FileInTheWay_IsNamed) {
  const std::string folder = Folder("file");
  ASSERT_TRUE(WriteFileAtomically(folder, "").ok());
  EXPECT_THAT(std::string(FolderLock::Acquire(folder).status().message()), HasSubstr(folder));
  EXPECT_THAT(std::string(FolderLock::Acquire(folder + "/below").status().message()),
              HasSubstr(folder));
}

TEST(FolderLockTest, LinkInPlaceOfTheLock_LeavesItsTargetAlone) {
  const std::string folder = Folder("link");
  const std::string precious = Folder("precious");
  ASSERT_TRUE(WriteFileAtomically(precious, "precious").ok());
  ASSERT_TRUE(FolderLock::Acquire(folder).ok());
  std::filesystem::remove(folder + "/lock");
  std::filesystem::create_symlink(precious, folder + "/lock");
  EXPECT_THAT(std::string(FolderLock::Acquire(folder).status().message()),
              HasSubstr(folder + "/lock"));
  EXPECT_EQ(ReadFile(precious).value_or(""), "precious");
}

TEST(FolderLockTest, WayThatAnotherUserMadeInAPublicPlace_IsRefused) {
  const std::string way = Folder("public");
  std::filesystem::create_directories(way + "/theirs/ours");
  ASSERT_EQ(chmod(way.c_str(), 01777), 0);
  if (lchown((way + "/theirs").c_str(), 4242, 4242) != 0) {
    GTEST_SKIP() << "only root makes folders of other users";
  }
  EXPECT_THAT(std::string(FolderLock::Acquire(way + "/theirs/ours").status().message()),
              HasSubstr(way + "/theirs belongs to another user (4242)"));
  ASSERT_EQ(lchown((way + "/theirs").c_str(), 0, 0), 0);
  EXPECT_TRUE(FolderLock::Acquire(way + "/theirs/ours").ok());
}

}  // namespace
}  // namespace autobatch
