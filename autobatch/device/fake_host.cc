#include "autobatch/device/fake_host.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

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

DeviceSources FakeHost::Sources() const {
  DeviceSources sources;
  sources.getenv = [this](absl::string_view name) -> std::optional<std::string> {
    const auto found = environment.find(std::string(name));
    return found == environment.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  sources.root = root_;
  sources.cuda_needed = 13000;
  return sources;
}

}  // namespace autobatch
