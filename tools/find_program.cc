#include "tools/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/files.h"

namespace autobatch {
namespace {

bool IsProgram(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string FindProgram(const std::string& word) {
  if (absl::StrContains(word, '/')) {
    std::string path = ResolveUserPath(word);
    return IsProgram(path) ? path : "";
  }
  const char* const path = std::getenv("PATH");
  for (const absl::string_view folder :
       absl::StrSplit(path == nullptr ? "/bin:/usr/bin" : path, ':')) {
    std::string place = absl::StrCat(folder.empty() ? "." : folder, "/", word);
    if (IsProgram(place)) return place;
  }
  return "";
}

}  // namespace autobatch
