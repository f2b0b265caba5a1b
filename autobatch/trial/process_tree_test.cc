#include "autobatch/trial/process_tree.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

using ::testing::UnorderedElementsAre;

// A procfs told in a table.
class ProcessTreeTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(proc_); }
  void TearDown() override { std::filesystem::remove_all(proc_); }

  void Process(int pid, int parent, int rss_kb, int peak_kb, int pss_kb, const char* name = "p",
               char state = 'S') {
    const std::string directory = absl::StrCat(proc_, "/", pid);
    std::filesystem::create_directories(directory);
    std::ofstream(directory + "/stat")
        << pid << " (" << name << ") " << state << " " << parent << " 1 1\n";
    std::ofstream(directory + "/status")
        << "Name:\t" << name << "\nVmHWM:\t" << peak_kb << " kB\nVmRSS:\t" << rss_kb << " kB\n";
    if (pss_kb > 0) {
      std::ofstream(directory + "/smaps_rollup") << "Rss: 1 kB\nPss:  " << pss_kb << " kB\n";
    }
  }

  const std::string proc_ = ::testing::TempDir() + "/proc";
};

TEST_F(ProcessTreeTest, OneProcess_IsItsPeak) {
  Process(10, 1, 5, 5, 0);
  Process(11, 10, 100, 300, 50);
  const ProcessTree tree = ReadProcessTree(10, proc_);
  EXPECT_THAT(tree.pids, UnorderedElementsAre(11));
  EXPECT_EQ(tree.resident_bytes, 300 * 1024);
}

TEST_F(ProcessTreeTest, SeveralProcesses_CountWhatTheyShareOnce) {
  Process(11, 10, 100, 100, 60);
  Process(12, 11, 100, 100, 60);
  // Outside the tree.
  Process(13, 1, 1000, 1000, 1000);
  const ProcessTree tree = ReadProcessTree(10, proc_);
  EXPECT_THAT(tree.pids, UnorderedElementsAre(11, 12));
  // 60 + 60, and the greatest process's peak of 100 for its share.
  EXPECT_EQ(tree.resident_bytes, 160 * 1024);
}

TEST_F(ProcessTreeTest, OddNamesAndZombies_AreReadForWhatTheyAre) {
  Process(11, 10, 7, 7, 0, "a) S 1 (b");
  Process(12, 10, 9, 9, 0, "gone", 'Z');
  EXPECT_THAT(ReadProcessTree(10, proc_).pids, UnorderedElementsAre(11));
}

TEST_F(ProcessTreeTest, NothingBelow_IsNothing) {
  EXPECT_TRUE(ReadProcessTree(10, proc_).pids.empty());
  EXPECT_EQ(ReadProcessTree(10, "/nonexistent").resident_bytes, 0);
}

}  // namespace
}  // namespace autobatch
