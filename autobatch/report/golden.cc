#include "autobatch/report/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace autobatch {

void ExpectGolden(absl::string_view name, absl::string_view text) {
  if (const char* folder = std::getenv("AUTOBATCH_UPDATE_GOLDEN"); folder != nullptr) {
    std::ofstream file(absl::StrCat(folder, "/", name), std::ios::binary);
    file << text;
    ASSERT_TRUE(file.good()) << "cannot write " << folder << "/" << name;
    return;
  }
  std::ifstream file(absl::StrCat("autobatch/report/testdata/", name), std::ios::binary);
  ASSERT_TRUE(file.good()) << "no golden file " << name << "; see the README of autobatch/report";
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << "differs from testdata/" << name
                                  << "; when that is meant, see the README of autobatch/report";
}

}  // namespace autobatch
