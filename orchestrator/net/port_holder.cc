#include "orchestrator/net/port_holder.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/files.h"
#include "orchestrator/net/refusal_log.h"

namespace autobatch {
namespace {

// The kernel's number of the state LISTEN, as it writes it.
constexpr absl::string_view kListen = "0A";

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  DIR* const stream = opendir(folder.c_str());
  if (stream == nullptr) return names;
  const absl::Cleanup close_it = [stream] { closedir(stream); };
  while (const dirent* const entry = readdir(stream)) names.emplace_back(entry->d_name);
  return names;
}

bool Holds(const std::string& process, const std::vector<std::string>& targets) {
  const std::string folder = absl::StrCat("/proc/", process, "/fd");
  for (const std::string& name : NamesIn(folder)) {
    char target[64];
    const ssize_t size = readlink(absl::StrCat(folder, "/", name).c_str(), target, sizeof target);
    if (size > 0 && std::find(targets.begin(), targets.end(),
                              std::string(target, static_cast<size_t>(size))) != targets.end()) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<uint64_t> ListeningInodes(absl::string_view table, uint16_t port) {
  std::vector<uint64_t> inodes;
  for (absl::string_view line : absl::StrSplit(table, '\n')) {
    // sl local_address rem_address st tx:rx tr:tm->when retrnsmt uid timeout inode ...
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ', absl::SkipWhitespace());
    if (fields.size() < 10 || fields[3] != kListen) continue;
    const std::vector<absl::string_view> local = absl::StrSplit(fields[1], ':');
    uint64_t inode = 0;
    uint32_t listens = 0;
    if (local.size() == 2 && absl::SimpleHexAtoi(local[1], &listens) && listens == port &&
        absl::SimpleAtoi(fields[9], &inode)) {
      inodes.push_back(inode);
    }
  }
  return inodes;
}

std::string HolderOfPort(uint16_t port) {
  std::vector<std::string> targets;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const auto text = ReadFile(table);
    if (!text.ok()) continue;
    for (uint64_t inode : ListeningInodes(*text, port)) {
      targets.push_back(absl::StrCat("socket:[", inode, "]"));
    }
  }
  if (targets.empty()) return "";
  for (const std::string& process : NamesIn("/proc")) {
    if (!absl::ascii_isdigit(process[0]) || !Holds(process, targets)) continue;
    const auto name = ReadFile(absl::StrCat("/proc/", process, "/comm"));
    return absl::StrCat(
        " by pid ", process, " (",
        EscapeForLog(absl::StripAsciiWhitespace(name.ok() ? absl::string_view(*name) : "?")), ")");
  }
  return " by a process that this user cannot see";
}

}  // namespace autobatch
