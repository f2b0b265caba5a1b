#include "autobatch/device/host_files.h"

#include <gtest/gtest.h>

#include "autobatch/device/fake_host.h"

namespace autobatch {
namespace {

TEST(ReadHostFileTest, PresentOrMissing_IsTextOrAbsent) {
  FakeHost host;
  host.Write("/proc/meminfo", "a\nb\n");
  EXPECT_EQ(ReadHostFile(host.root(), "/proc/meminfo"), "a\nb\n");
  EXPECT_FALSE(ReadHostFile(host.root(), "/proc/cpuinfo").has_value());
  EXPECT_TRUE(ReadHostFile("", "/proc/self/stat").has_value());
}

TEST(ReadHostFileTest, Folder_IsAbsent) { EXPECT_FALSE(ReadHostFile("", "/proc").has_value()); }

TEST(FindValueTest, KeyAtTheBeginningOfALine_GivesTheRest) {
  const absl::string_view text =
      "Mem: 1\nMemTotal:   16 kB\nmodel name\t: A\nanon_thp 3\nanon 2\nend";
  EXPECT_EQ(FindValue(text, "MemTotal"), "16 kB");
  EXPECT_EQ(FindValue(text, "model name"), "A");
  EXPECT_EQ(FindValue(text, "anon"), "2");
  EXPECT_FALSE(FindValue(text, "Total").has_value());
  EXPECT_FALSE(FindValue(text, "end").has_value());
}

TEST(ProcessNameTest, KnownOrUnknownProcess_IsNameOrEmpty) {
  FakeHost host;
  host.Write("/proc/12/comm", "python3\n");
  EXPECT_EQ(ProcessName(host.root(), 12), "python3");
  EXPECT_EQ(ProcessName(host.root(), 13), "");
}

}  // namespace
}  // namespace autobatch
