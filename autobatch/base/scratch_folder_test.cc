#include "autobatch/base/scratch_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

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
    const auto folder = ScratchFolder::Create(parent);
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
    const auto folder = ScratchFolder::Create(parent);
    if (!folder.ok() || !WriteFileAtomically(folder->path() + "/in/it", "x").ok()) _exit(1);
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(Entries(parent), 1);
  ASSERT_TRUE(ScratchFolder::Create(parent).ok());
  EXPECT_EQ(Entries(parent), 0);
}

TEST(ScratchFolderTest, FolderInUseAndWhatOnlyLooksLikeOne_Stay) {
  const std::string parent = NewParent();
  const auto first = ScratchFolder::Create(parent);
  const auto second = ScratchFolder::Create(parent);
  ASSERT_TRUE(first.ok() && second.ok());
  const std::string others[] = {"autobatch-scratch.of-mine", "autobatch-501"};
  for (const std::string& name : others) ASSERT_TRUE(fs::create_directory(fs::path(parent) / name));
  ASSERT_TRUE(WriteFileAtomically(parent + "/autobatch-scratch.abcdef", "x").ok());
  fs::create_directory_symlink(others[1], parent + "/autobatch-scratch.ghijkl");
  ASSERT_TRUE(ScratchFolder::Create(parent).ok());
  EXPECT_EQ(Entries(parent), 6);
}

TEST(ScratchFolderTest, NoPlace_IsNamed) {
  const auto folder = ScratchFolder::Create("/no/such");
  EXPECT_NE(folder.status().message().find("/no/such"), std::string::npos) << folder.status();
}

}  // namespace
}  // namespace autobatch
