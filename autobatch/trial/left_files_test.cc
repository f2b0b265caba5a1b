#include "autobatch/trial/left_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

class LeftFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_ + "/data");
    Write("train.py", "1");
    Write("data/images", "2");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << text;
  }

  const std::string folder_ = ::testing::TempDir() + "/left_files";
};

TEST_F(LeftFilesTest, NothingDone_SaysNothing) {
  LeftFiles left(folder_);
  EXPECT_EQ(left.Describe(), "");
}

TEST_F(LeftFilesTest, NewAndChanged_AreToldOnce) {
  LeftFiles left(folder_);
  Write("log.txt", "x");
  Write("train.py", "longer");
  Write("runs/exp/weights.pt", "w");
  Write("runs.txt", "x");
  EXPECT_EQ(left.Describe(), "log.txt, runs/, runs.txt, train.py (changed)");
  EXPECT_EQ(left.Describe(), "");
  Write("runs/exp2/weights.pt", "w");
  EXPECT_EQ(left.Describe(), "runs/exp2/");
}

TEST_F(LeftFilesTest, ToolsOwnFolders_DoNotCount) {
  LeftFiles left(folder_);
  Write("__pycache__/train.pyc", "x");
  Write(".git/index", "x");
  EXPECT_EQ(left.Describe(), "");
}

TEST_F(LeftFilesTest, ManyFiles_AreCounted) {
  LeftFiles left(folder_);
  for (int i = 10; i < 30; ++i) Write(absl::StrCat("f", i), "x");
  EXPECT_EQ(left.Describe(), "f10, f11, f12, f13, f14, f15, f16, f17 and 12 more");
}

TEST_F(LeftFilesTest, TooLargeOrMissing_IsNotLookedAt) {
  LeftFiles large(folder_, 2);
  LeftFiles missing(folder_ + "/none");
  Write("log.txt", "x");
  EXPECT_EQ(large.Describe(), "");
  EXPECT_EQ(missing.Describe(), "");
}

}  // namespace
}  // namespace autobatch
