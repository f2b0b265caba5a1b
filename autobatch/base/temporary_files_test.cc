#include "autobatch/base/temporary_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"

namespace autobatch {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

std::string NewFolder() {
  std::string folder = absl::StrCat(::testing::TempDir(), "/temporaries-XXXXXX");
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

TEST(TemporaryFilesTest, WriteThatWasKilled_LeavesNothingThatStays) {
  const std::string folder = NewFolder();
  const std::string path = folder + "/state";
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  const pid_t child = fork();
  if (child == 0) {
    // The kernel kills it in mid-write.
    std::signal(SIGXFSZ, SIG_DFL);
    const rlimit no_core{};
    setrlimit(RLIMIT_CORE, &no_core);
    const rlimit little{.rlim_cur = 1, .rlim_max = 1};
    setrlimit(RLIMIT_FSIZE, &little);
    (void)WriteFileAtomically(path, "new and longer");
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_THAT(Names(folder), SizeIs(2));
  RemoveTemporariesOf(path);
  EXPECT_THAT(Names(folder), ElementsAre("state"));
  EXPECT_EQ(*ReadFile(path), "old");
}

TEST(TemporaryFilesTest, WhatLooksLikeOne_Stays) {
  const std::string folder = NewFolder();
  for (const char* name : {"state.backup", "state.tmp-old", "other.tmp-abc123", "state.tmp-abc12.",
                           "state.next.tmp-abc123"}) {
    ASSERT_TRUE(WriteFileAtomically(absl::StrCat(folder, "/", name), "kept").ok());
  }
  ASSERT_EQ(mkdir((folder + "/state.tmp-folder").c_str(), 0700), 0);
  const auto before = Names(folder);
  RemoveTemporariesOf(folder + "/state");
  EXPECT_THAT(Names(folder), ::testing::UnorderedElementsAreArray(before));
  RemoveTemporariesOf(folder + "/no/such");
}

}  // namespace
}  // namespace autobatch
