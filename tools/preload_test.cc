#include "tools/preload.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autobatch {
namespace {

using testing::HasSubstr;

std::string Write(const std::string& name, const std::string& content) {
  std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  chmod(path.c_str(), 0755);
  return path;
}

// A program's header with one part of that type.
std::string Elf(uint32_t type) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof(header);
  header.e_phnum = 1;
  Elf64_Phdr part = {};
  part.p_type = type;
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) +
         std::string(reinterpret_cast<const char*>(&part), sizeof(part));
}

TEST(CheckPreload, OrdinaryProgram_Loads) {
  EXPECT_EQ(CheckPreload("sh").value(), "");
  EXPECT_EQ(CheckPreload("/proc/self/exe").value(), "");
  EXPECT_EQ(CheckPreload(Write("dynamic", Elf(PT_INTERP))).value(), "");
}

TEST(CheckPreload, StaticProgram_IsWarnedOf) {
  const std::string path = Write("static", Elf(PT_LOAD));
  EXPECT_THAT(CheckPreload(path).value(), HasSubstr(path + " is a static program"));
  EXPECT_THAT(CheckPreload(Write("script", "#!" + path + " -x\n")).value(), HasSubstr(path));
}

TEST(CheckPreload, Script_MeansItsInterpreter) {
  EXPECT_EQ(CheckPreload(Write("by_env", "#!/usr/bin/env -S A=b sh\n")).value(), "");
  EXPECT_EQ(CheckPreload(Write("loop", "#!" + testing::TempDir() + "/loop\n")).value(), "");
}

TEST(CheckPreload, ProgramWithAnothersRights_IsRefused) {
  const std::string path = Write("setuid", Elf(PT_INTERP));
  const bool is_root = geteuid() == 0;
  if (!is_root || chown(path.c_str(), 1234, 1234) != 0) {
    GTEST_SKIP() << "only root can make a file that is another user's";
  }
  chmod(path.c_str(), 04755);
  const auto checked = CheckPreload(path);
  EXPECT_EQ(checked.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(checked.status().message()), HasSubstr("setuid"));
}

TEST(CheckPreload, WhatIsNoProgram_IsLeftToTheSystem) {
  EXPECT_EQ(CheckPreload("no-such-program-anywhere").value(), "");
  EXPECT_EQ(CheckPreload(Write("empty", "")).value(), "");
  EXPECT_EQ(CheckPreload(Write("cut", Elf(PT_LOAD).substr(0, 70))).value(), "");
}

}  // namespace
}  // namespace autobatch
