#include "autobatch/trial/left_files.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace autobatch {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNames = 8;

bool IsToolsOwn(const std::string& name) {
  return name == ".git" || name == "__pycache__" || name == ".ipynb_checkpoints";
}

}  // namespace

LeftFiles::LeftFiles(std::string directory, size_t most)
    : directory_(std::move(directory)), most_(most) {
  watched_ = Look(before_);
}

bool LeftFiles::Look(Entries& entries) const {
  std::error_code error;
  fs::recursive_directory_iterator it(directory_, fs::directory_options::skip_permission_denied,
                                      error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const bool folder = it->is_directory(ignored) && !it->is_symlink(ignored);
    if (folder && IsToolsOwn(it->path().filename().string())) {
      it.disable_recursion_pending();
      continue;
    }
    if (entries.size() == most_) return false;
    Entry entry;
    entry.folder = folder;
    if (!folder && it->is_regular_file(ignored)) {
      entry.bytes = static_cast<int64_t>(it->file_size(ignored));
      entry.changed = it->last_write_time(ignored).time_since_epoch().count();
    }
    entries.emplace(it->path().lexically_relative(directory_).string(), entry);
  }
  return !error;
}

std::string LeftFiles::Describe() {
  if (!watched_) return "";
  Entries now;
  if (!Look(now)) return "";
  std::vector<std::string> names;
  size_t more = 0;
  for (const auto& [name, entry] : now) {
    const std::string folder = fs::path(name).parent_path().string();
    if (!folder.empty() && before_.count(folder) == 0) continue;
    const auto known = before_.find(name);
    if (known != before_.end() && known->second == entry) continue;
    const bool is_new = known == before_.end();
    if (names.size() == kMostNames) {
      ++more;
      continue;
    }
    names.push_back(absl::StrCat(name, entry.folder ? "/" : "", is_new ? "" : " (changed)"));
  }
  before_ = std::move(now);
  std::string text = absl::StrJoin(names, ", ");
  if (more > 0) absl::StrAppend(&text, " and ", more, " more");
  return text;
}

}  // namespace autobatch
