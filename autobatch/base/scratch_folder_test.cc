#include "autobatch/base/scratch_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"

namespace autobatch {
namespace {

namespace fs = std::filesystem;

std::string NewParent() {
  std::string folder = absl::StrCat(::testing::TempDir(), "/parent-XXXXXX");
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

int Entries(const std::string& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(ScratchFolderTest, Folder_GoesWithAllThatIsInIt) {
  const std::string parent = NewParent();
  {
    const auto folder = ScratchFolder::CreateIn(parent);
    ASSERT_TRUE(folder.ok()) << folder.status();
    ASSERT_TRUE(WriteFileAtomically(folder->path() + "/in/it", "x").ok());
    EXPECT_EQ(Entries(parent), 1);
  }
  EXPECT_EQ(Entries(parent), 0);
}

TEST(ScratchFolderTest, FolderOfAKilledProcess_GoesWithTheNextOne) {
  const std::string parent = NewParent();
  const pid_t child = fork();
  if (child == 0) {
    const auto folder = ScratchFolder::CreateIn(parent);
    if (!folder.ok() || !WriteFileAtomically(folder->path() + "/in/it", "x").ok()) _exit(1);
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(Entries(parent), 1);
  ASSERT_TRUE(ScratchFolder::CreateIn(parent).ok());
  EXPECT_EQ(Entries(parent), 0);
}

TEST(ScratchFolderTest, FolderInUseAndWhatOnlyLooksLikeOne_Stay) {
  const std::string parent = NewParent();
  const auto first = ScratchFolder::CreateIn(parent);
  const auto second = ScratchFolder::CreateIn(parent);
  ASSERT_TRUE(first.ok() && second.ok());
  const std::string others[] = {"autobatch-scratch.of-mine", "autobatch-501"};
  for (const std::string& name : others) ASSERT_TRUE(fs::create_directory(fs::path(parent) / name));
  ASSERT_TRUE(WriteFileAtomically(parent + "/autobatch-scratch.abcdef", "x").ok());
  fs::create_directory_symlink(others[1], parent + "/autobatch-scratch.ghijkl");
  ASSERT_TRUE(ScratchFolder::CreateIn(parent).ok());
  EXPECT_EQ(Entries(parent), 6);
}

TEST(ScratchFolderTest, EndOfAProcess_TakesAllOfItsFolders) {
  const std::string parent = NewParent();
  const pid_t child = fork();
  if (child == 0) {
    const auto first = ScratchFolder::CreateIn(parent);
    const auto second = ScratchFolder::CreateIn(parent);
    if (!first.ok() || !second.ok() || Entries(parent) != 2) _exit(1);
    {
      const auto gone = ScratchFolder::CreateIn(parent);
    }
    ScratchFolder::RemoveAll();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(Entries(parent), 0);
}

// Sets TMPDIR for the length of a test.
class TemporaryFolderTest : public ::testing::Test {
 protected:
  ~TemporaryFolderTest() override { setenv("TMPDIR", before_.c_str(), 1); }

  const std::string before_ = std::getenv("TMPDIR") == nullptr ? "" : std::getenv("TMPDIR");
};

TEST_F(TemporaryFolderTest, Variable_SaysWhere) {
  const std::string parent = NewParent();
  setenv("TMPDIR", parent.c_str(), 1);
  EXPECT_TRUE(absl::StartsWith(ScratchFolder::Create()->path(), parent));
  setenv("TMPDIR", "", 1);
  EXPECT_TRUE(absl::StartsWith(ScratchFolder::Create()->path(), "/tmp/"));
}

TEST_F(TemporaryFolderTest, PlaceThatCannotBe_IsNamedWithTheVariable) {
  for (const std::string place : {"/no/such", "/proc", "/dev/null"}) {
    setenv("TMPDIR", place.c_str(), 1);
    const absl::Status status = ScratchFolder::Create().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StartsWith(status.message(), absl::StrCat("TMPDIR=", place, ": "))) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "unset it, for /tmp")) << status;
  }
}

TEST_F(TemporaryFolderTest, PathForThePreload_HasNoEndOfAName) {
  const std::string parent = NewParent() + "/a folder";
  ASSERT_TRUE(fs::create_directory(parent));
  setenv("TMPDIR", parent.c_str(), 1);
  EXPECT_TRUE(absl::StartsWith(ScratchFolder::Create()->path(), parent));
  EXPECT_TRUE(absl::StartsWith(ScratchFolder::CreateForPreload()->path(), "/tmp/"));
  setenv("TMPDIR", NewParent().c_str(), 1);
  EXPECT_TRUE(absl::StartsWith(ScratchFolder::CreateForPreload()->path(), std::getenv("TMPDIR")));
}

TEST(ScratchFolderTest, NoPlace_IsNamed) {
  const auto folder = ScratchFolder::CreateIn("/no/such");
  EXPECT_NE(folder.status().message().find("/no/such"), std::string::npos) << folder.status();
}

}  // namespace
}  // namespace autobatch
