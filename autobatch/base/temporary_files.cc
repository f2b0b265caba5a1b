#include "autobatch/base/temporary_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace autobatch {
namespace {

// Whether this name is `start`, and what the suffix may be.
bool IsTemporaryOf(absl::string_view name, absl::string_view start) {
  constexpr absl::string_view suffix = kTemporarySuffix;
  if (name.size() != start.size() + suffix.size() || !absl::StartsWith(name, start)) return false;
  const absl::string_view end = name.substr(start.size());
  return std::equal(end.begin(), end.end(), suffix.begin(), [](char found, char meant) {
    return meant == 'X' ? absl::ascii_isalnum(found) : found == meant;
  });
}

}  // namespace

void RemoveTemporariesOf(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path file(path);
  std::error_code error;
  fs::directory_iterator entries(file.has_parent_path() ? file.parent_path() : ".", error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::error_code ignored;
    if (IsTemporaryOf(entries->path().filename().string(), file.filename().string()) &&
        fs::is_regular_file(entries->symlink_status(ignored))) {
      fs::remove(entries->path(), ignored);
    }
  }
}

}  // namespace autobatch
