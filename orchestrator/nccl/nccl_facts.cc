#include "orchestrator/nccl/nccl_facts.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "autobatch/base/files.h"

namespace autobatch {
namespace {

constexpr size_t kLongestValue = 256;

// Each node has its own interfaces, cards, paths, and its own wish to log.
bool MayDiffer(absl::string_view name) {
  static constexpr absl::string_view kNames[] = {"NCCL_COMM_ID",
                                                 "NCCL_CONF_FILE",
                                                 "NCCL_HOSTID",
                                                 "NCCL_IB_HCA",
                                                 "NCCL_SOCKET_IFNAME",
                                                 "NCCL_IB_GID_INDEX",
                                                 "NCCL_TOPO_FILE",
                                                 "NCCL_TOPO_DUMP_FILE",
                                                 "NCCL_TOPO_DUMP_FILE_RANK",
                                                 "NCCL_GRAPH_DUMP_FILE",
                                                 "NCCL_GRAPH_DUMP_FILE_RANK",
                                                 "NCCL_IGNORE_CPU_AFFINITY",
                                                 "NCCL_OOB_NET_IFNAME",
                                                 "NCCL_SET_THREAD_NAME"};
  return absl::StartsWith(name, "NCCL_DEBUG") ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::string Cut(absl::string_view value) {
  if (value.size() <= kLongestValue) return std::string(value);
  return absl::StrCat(value.substr(0, kLongestValue), "...");
}

// The settings of a file, line by line.
template <typename F>
void ForEachLine(const std::string& text, F take) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    take(absl::StripAsciiWhitespace(line.substr(0, line.find('#'))));
  }
}

// Keeps what stands there already: earlier sources come first.
void Take(absl::string_view line, std::map<std::string, std::string>& facts) {
  const size_t equals = line.find('=');
  if (!absl::StartsWith(line, "NCCL_") || equals == absl::string_view::npos) return;
  const absl::string_view name = line.substr(0, equals);
  if (!MayDiffer(name)) facts.emplace(name, Cut(line.substr(equals + 1)));
}

void TakeFile(const std::string& text, std::map<std::string, std::string>& facts) {
  ForEachLine(text, [&facts](absl::string_view line) { Take(line, facts); });
}

}  // namespace

NcclSettings ReadNcclSettings() {
  NcclSettings settings;
  for (char** entry = environ; *entry != nullptr; ++entry)
    settings.environment.emplace_back(*entry);
  const char* const named = std::getenv("NCCL_CONF_FILE");
  const char* const home = std::getenv("HOME");
  const std::string user_file = named != nullptr  ? named
                                : home != nullptr ? absl::StrCat(home, "/.nccl.conf")
                                                  : "";
  if (!user_file.empty()) settings.user_file = ReadFile(user_file).value_or("");
  settings.system_file = ReadFile("/etc/nccl.conf").value_or("");
  return settings;
}

std::string InNcclFiles(const NcclSettings& settings, absl::string_view name) {
  std::string value;
  for (const std::string* const file : {&settings.user_file, &settings.system_file}) {
    ForEachLine(*file, [&](absl::string_view line) {
      if (!absl::ConsumePrefix(&line, name) || !absl::ConsumePrefix(&line, "=")) return;
      if (value.empty()) value = std::string(line);
    });
  }
  return value;
}

std::vector<std::pair<std::string, std::string>> NcclFacts(
    const NcclSettings& settings, const std::optional<NcclDescription>& library) {
  std::map<std::string, std::string> facts;
  for (const std::string& entry : settings.environment) Take(entry, facts);
  TakeFile(settings.user_file, facts);
  TakeFile(settings.system_file, facts);
  facts.emplace("nccl_version", library.has_value() ? library->version : "none");
  return {facts.begin(), facts.end()};
}

}  // namespace autobatch
