#include "autobatch/trial/seen_framework.h"

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace autobatch {
namespace {

// It is there soon if at all, and looking takes a while: so many calls look, and then one in so
// many.
constexpr int64_t kEveryCall = 64;
constexpr int64_t kThenEvery = 16;

// PyTorch's folder, as the process that has this table of mappings sees it; "": it has none.
std::string FolderIn(const std::string& maps) {
  std::ifstream file(maps);
  for (std::string line; std::getline(file, line);) {
    const size_t path = line.find('/');
    absl::string_view library = line;
    if (path == std::string::npos || !absl::ConsumeSuffix(&library, "/lib/libtorch_cpu.so")) {
      continue;
    }
    return std::string(library.substr(path));
  }
  return "";
}

// A wheel has version.py, with "__version__ = '2.13.0+cu130'"; the zip without Python, a file that
// holds nothing else.
std::string VersionIn(const std::string& folder) {
  std::ifstream module(folder + "/version.py");
  for (std::string line; std::getline(module, line);) {
    absl::string_view rest = line;
    if (!absl::ConsumePrefix(&rest, "__version__ = ") || rest.size() < 2) continue;
    return std::string(rest.substr(1, rest.find(rest[0], 1) - 1));
  }
  std::ifstream zip(folder + "/build-version");
  std::string version;
  std::getline(zip, version);
  return version;
}

}  // namespace

std::string SeenFramework(std::span<const int64_t> pids, const std::string& proc) {
  for (const int64_t pid : pids) {
    const std::string process = absl::StrCat(proc, "/", pid);
    const std::string folder = FolderIn(process + "/maps");
    if (folder.empty()) continue;
    // It may run in a container, with files of its own.
    const std::string version = VersionIn(absl::StrCat(process, "/root", folder));
    return absl::StrCat("PyTorch ", version.empty() ? "of unknown version" : version, " in ",
                        folder);
  }
  return "";
}

void FrameworkWatch::Look(std::span<const int64_t> pids, const std::string& proc) {
  const int64_t call = calls_++;
  if (!saw_ || (call >= kEveryCall && call % kThenEvery != 0)) return;
  const std::string framework = SeenFramework(pids, proc);
  if (!framework.empty()) std::exchange(saw_, nullptr)(framework);
}

}  // namespace autobatch
