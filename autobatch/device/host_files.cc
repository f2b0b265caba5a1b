#include "autobatch/device/host_files.h"

#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace autobatch {

std::optional<std::string> ReadHostFile(absl::string_view root, absl::string_view path) {
  std::ifstream file(absl::StrCat(root, path));
  if (!file) return std::nullopt;
  // Not by iterators: they throw where a process ends while its file is read.
  std::string text;
  char buffer[4096];
  while (file.read(buffer, sizeof(buffer)) || file.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(file.gcount()));
  }
  if (file.bad()) return std::nullopt;
  return text;
}

std::optional<absl::string_view> FindValue(absl::string_view text, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, key)) continue;
    // "anon" is no beginning of "anon_thp".
    if (line.empty() || (line[0] != ':' && !absl::ascii_isspace(line[0]))) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    absl::ConsumePrefix(&line, ":");
    return absl::StripAsciiWhitespace(line);
  }
  return std::nullopt;
}

std::string ProcessName(absl::string_view root, int64_t pid) {
  const std::optional<std::string> comm = ReadHostFile(root, absl::StrCat("/proc/", pid, "/comm"));
  return comm.has_value() ? std::string(absl::StripTrailingAsciiWhitespace(*comm)) : std::string();
}

}  // namespace autobatch
