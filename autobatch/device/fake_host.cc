#include "autobatch/device/fake_host.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace autobatch {

FakeHost::FakeHost() : root_(absl::StrCat(testing::TempDir(), "/host-XXXXXX")) {
  EXPECT_NE(mkdtemp(root_.data()), nullptr);
}

void FakeHost::Write(absl::string_view path, absl::string_view text) const {
  const std::filesystem::path file(absl::StrCat(root_, path));
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file);
  out << text;
  EXPECT_TRUE(out.good()) << file;
}

}  // namespace autobatch
