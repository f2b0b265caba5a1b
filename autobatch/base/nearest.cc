#include "autobatch/base/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace autobatch {
namespace {

// Fewer letters are part of too many names.
constexpr size_t kLeastPart = 3;

size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Nearest(absl::string_view name, std::span<const std::string> valid) {
  std::string nearest;
  // Somebody who types a part means the whole: "bf16" is amp_bf16, whatever else is few edits away.
  if (name.size() >= kLeastPart) {
    const std::string part = absl::AsciiStrToLower(name);
    for (const std::string& candidate : valid) {
      if (absl::StrContains(absl::AsciiStrToLower(candidate), part)) return candidate;
    }
  }
  // More than a third of the letters wrong is another word.
  size_t best = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : valid) {
    const size_t distance = EditDistance(name, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

absl::Status UnknownName(absl::string_view what, absl::string_view name,
                         std::span<const std::string> valid) {
  const std::string nearest = Nearest(name, valid);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown ", what, " '", name, "'",
                   nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?"),
                   nearest.empty() ? "; valid: " : " Valid: ", absl::StrJoin(valid, ", ")));
}

}  // namespace autobatch
