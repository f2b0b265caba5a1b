#include "autobatch/trial/process_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace autobatch {
namespace {

// The parent of a living process; absent when it is gone, or a zombie.
std::optional<int64_t> ParentOf(const std::string& directory) {
  std::ifstream file(directory + "/stat");
  std::string text;
  std::getline(file, text);
  // "pid (name) state parent ..."; the name may hold spaces and parentheses.
  const size_t after_name = text.rfind(')');
  if (after_name == std::string::npos) return std::nullopt;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(text).substr(after_name + 1), ' ', absl::SkipEmpty());
  int64_t parent = 0;
  if (fields.size() < 2 || fields[0] == "Z" || fields[0] == "X" ||
      !absl::SimpleAtoi(fields[1], &parent)) {
    return std::nullopt;
  }
  return parent;
}

// "VmRSS:   123 kB" and the like, as bytes; what is not there stays as it is.
struct KilobyteField {
  absl::string_view key;
  int64_t* bytes;
};
void ReadKilobytes(const std::string& path, const std::vector<KilobyteField>& fields) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.size() < 2) continue;
    for (const KilobyteField& field : fields) {
      int64_t kilobytes = 0;
      if (words[0] == field.key && absl::SimpleAtoi(words[1], &kilobytes)) {
        *field.bytes = kilobytes * 1024;
      }
    }
  }
}

// Every descendant of `root`, parents first.
std::vector<int64_t> DescendantsOf(int64_t root, const std::string& proc) {
  std::multimap<int64_t, int64_t> children;
  std::error_code error;
  for (std::filesystem::directory_iterator it(proc, error), end; !error && it != end;
       it.increment(error)) {
    int64_t pid = 0;
    if (!absl::SimpleAtoi(it->path().filename().string(), &pid)) continue;
    const std::optional<int64_t> parent = ParentOf(it->path().string());
    if (parent.has_value()) children.emplace(*parent, pid);
  }
  std::vector<int64_t> found;
  std::vector<int64_t> todo = {root};
  while (!todo.empty()) {
    const auto [first, last] = children.equal_range(todo.back());
    todo.pop_back();
    for (auto it = first; it != last; ++it) {
      found.push_back(it->second);
      todo.push_back(it->second);
    }
  }
  return found;
}

}  // namespace

ProcessTree ReadProcessTree(int64_t root, const std::string& proc) {
  ProcessTree tree;
  tree.pids = DescendantsOf(root, proc);
  int64_t greatest_peak = 0;
  int64_t greatest_share = 0;
  for (const int64_t pid : tree.pids) {
    const std::string directory = absl::StrCat(proc, "/", pid);
    int64_t resident = 0;
    int64_t peak = 0;
    ReadKilobytes(directory + "/status", {{"VmRSS:", &resident}, {"VmHWM:", &peak}});
    int64_t share = resident;
    // Walks the page tables, which one process alone does not need.
    if (tree.pids.size() > 1) ReadKilobytes(directory + "/smaps_rollup", {{"Pss:", &share}});
    tree.resident_bytes += share;
    if (peak > greatest_peak) {
      greatest_peak = peak;
      greatest_share = share;
    }
  }
  tree.resident_bytes += std::max<int64_t>(0, greatest_peak - greatest_share);
  return tree;
}

}  // namespace autobatch
