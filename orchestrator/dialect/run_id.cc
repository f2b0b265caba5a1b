#include "orchestrator/dialect/run_id.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

constexpr std::array<absl::string_view, 7> kNoNames = {"none",   "null", "default", "undefined",
                                                       "(null)", "nil",  "unset"};

constexpr int64_t kFirstPort = 20'000;
constexpr int64_t kPorts = 12'768;

absl::Status Refused(absl::string_view run_id, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("run id '", absl::CEscape(run_id), "' ", why,
                   "; give --run-id a name that no other job has, the same on every node, such as "
                   "the job's number"));
}

}  // namespace

absl::Status CheckRunId(absl::string_view run_id) {
  if (run_id.empty()) return Refused(run_id, "is empty");
  if (run_id.size() > kLongestRunId) {
    return Refused(run_id.substr(0, 32),
                   absl::StrCat("has more than ", kLongestRunId, " characters"));
  }
  // Folders are named after it.
  if (run_id == "." || run_id == "..") return Refused(run_id, "is no name of its own");
  const std::string lower = absl::AsciiStrToLower(run_id);
  if (std::find(kNoNames.begin(), kNoNames.end(), lower) != kNoNames.end()) {
    return Refused(run_id, "is a launcher's default: two jobs that have it would join each other");
  }
  const bool plain = std::all_of(run_id.begin(), run_id.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == ':' || c == '-';
  });
  return plain ? absl::OkStatus() : Refused(run_id, "holds other characters than A-Za-z0-9._:-");
}

absl::StatusOr<std::string> ChooseRunId(absl::string_view given, const LauncherFacts& facts) {
  std::string run_id = given.empty() ? facts.run_id : std::string(given);
  if (run_id.empty()) {
    return absl::InvalidArgumentError(
        "no run id: this launcher gives none of its own; give --run-id a name that no other job "
        "has, the same on every node");
  }
  AB_RETURN_IF_ERROR(CheckRunId(run_id));
  return run_id;
}

int64_t PortOfRun(absl::string_view run_id) {
  // FNV-1a: the same on every machine and in every version.
  uint64_t hash = 14'695'981'039'346'656'037u;
  for (const char c : run_id) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1'099'511'628'211u;
  }
  return kFirstPort + static_cast<int64_t>(hash % kPorts);
}

}  // namespace autobatch
