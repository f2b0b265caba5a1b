#include "orchestrator/core/version_rule.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace autobatch {
namespace {

struct Version {
  int64_t major = 0;
  int64_t minor = 0;
};

// The first two of three numbers; what follows the third ("-rc1") does not matter.
std::optional<Version> ParseVersion(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('.', 2));
  Version version;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &version.major) ||
      !absl::SimpleAtoi(parts[1], &version.minor) || version.major < 0 || version.minor < 0) {
    return std::nullopt;
  }
  return version;
}

}  // namespace

absl::Status CheckVersion(absl::string_view ours, absl::string_view theirs) {
  const std::optional<Version> here = ParseVersion(ours);
  const std::optional<Version> there = ParseVersion(theirs);
  if (!here.has_value() || !there.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("autobatch version '", here.has_value() ? theirs : ours, "' is no version"));
  }
  if (here->major == there->major && (here->major > 0 || here->minor == there->minor)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("autobatch ", theirs, " does not agree with the coordinator's ", ours));
}

}  // namespace autobatch
