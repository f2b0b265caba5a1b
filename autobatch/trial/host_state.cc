#include "autobatch/trial/host_state.h"

#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace autobatch {
namespace {

// The number after `key` in a file of lines "key number ...".
std::optional<int64_t> ReadNumber(const std::string& path, absl::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    int64_t number = 0;
    if (words.size() >= 2 && words[0] == key && absl::SimpleAtoi(words[1], &number)) return number;
  }
  return std::nullopt;
}

std::optional<int64_t> ReadKilobytes(const std::string& path, absl::string_view key) {
  const std::optional<int64_t> kilobytes = ReadNumber(path, key);
  if (!kilobytes.has_value()) return std::nullopt;
  return *kilobytes * 1024;
}

}  // namespace

HostState ReadHostState(const std::string& proc) {
  HostState state;
  state.available_bytes = ReadKilobytes(proc + "/meminfo", "MemAvailable:");
  state.oom_kills = ReadNumber(proc + "/vmstat", "oom_kill");
  return state;
}

std::optional<int64_t> PeakResidentBytes(int64_t pid, const std::string& proc) {
  return ReadKilobytes(absl::StrCat(proc, "/", pid, "/status"), "VmHWM:");
}

}  // namespace autobatch
