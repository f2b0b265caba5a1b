#include "tools/preload.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tools/find_program.h"

namespace autobatch {
namespace {

// Interpreters of scripts may be scripts; nobody means more of them than this.
constexpr int kMostInterpreters = 4;
// Program headers stand at the beginning of a file.
constexpr size_t kHead = 64 << 10;

std::string Head(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(kHead, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

// Of `#!/usr/bin/env python3` the word python3, of `#!/bin/sh -e` the path; "" where `head` is no
// script's.
std::string Interpreter(const std::string& head) {
  if (!absl::StartsWith(head, "#!")) return "";
  const std::string line = head.substr(2, head.find('\n') - 2);
  const std::vector<std::string> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.empty()) return "";
  if (!absl::EndsWith(words[0], "/env")) return words[0];
  for (size_t i = 1; i < words.size(); ++i) {
    if (!absl::StartsWith(words[i], "-") && !absl::StrContains(words[i], '=')) return words[i];
  }
  return "";
}

bool IsStatic(const std::string& head) {
  Elf64_Ehdr header;
  if (head.size() < sizeof(header)) return false;
  std::memcpy(&header, head.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return false;
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    const size_t begin = header.e_phoff + i * sizeof(part);
    if (begin + sizeof(part) > head.size()) return false;
    std::memcpy(&part, head.data() + begin, sizeof(part));
    if (part.p_type == PT_INTERP) return false;
  }
  return true;
}

bool HasOthersRights(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return false;
  const bool as_user = (info.st_mode & S_ISUID) != 0 && info.st_uid != geteuid();
  const bool as_group = (info.st_mode & S_ISGID) != 0 && info.st_gid != getegid();
  const bool with_capabilities =
      geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  return as_user || as_group || with_capabilities;
}

}  // namespace

absl::StatusOr<std::string> CheckPreload(const std::string& word) {
  std::string path = FindProgram(word);
  for (int i = 0; i < kMostInterpreters && !path.empty(); ++i) {
    const std::string head = Head(path);
    // The kernel ignores those bits of a script.
    const std::string interpreter = Interpreter(head);
    if (!interpreter.empty()) {
      path = FindProgram(interpreter);
      continue;
    }
    if (HasOthersRights(path)) {
      return absl::FailedPreconditionError(
          absl::StrCat(path,
                       " runs with another user's or group's rights (setuid), so that the "
                       "system keeps the simulator out of it; run the program that it "
                       "starts instead"));
    }
    if (!IsStatic(head)) return "";
    return absl::StrCat(path,
                        " is a static program: it sees no simulated device itself, though "
                        "programs that it starts may");
  }
  return "";
}

absl::StatusOr<std::string> CheckSimulated(const WorkloadSpec& workload, const Device& device) {
  if (!device.simulated || workload.kind != WorkloadKind::kCommand) return "";
  return CheckPreload(workload.command.front());
}

}  // namespace autobatch
