#include "orchestrator/dialect/environment.h"

#include <cstring>
#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace autobatch {

Environment EnvironmentFrom(const char* const* variables) {
  Environment environment;
  for (; variables != nullptr && *variables != nullptr; ++variables) {
    const char* equals = std::strchr(*variables, '=');
    // The first of two of the same name is what getenv() finds.
    if (equals != nullptr && equals != *variables) {
      environment.emplace(std::string(*variables, equals), equals + 1);
    }
  }
  return environment;
}

std::string EnvironmentReader::Text(absl::string_view name) const {
  const auto found = environment_.find(std::string(name));
  return found == environment_.end() ? "" : found->second;
}

std::string EnvironmentReader::FirstOf(std::initializer_list<absl::string_view> names) const {
  for (const absl::string_view name : names) {
    if (std::string text = Text(name); !text.empty()) return text;
  }
  return "";
}

std::optional<int64_t> EnvironmentReader::Number(absl::string_view name, int64_t least) {
  const std::string text = Text(name);
  if (text.empty()) return std::nullopt;
  int64_t value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= least &&
      value <= std::numeric_limits<int32_t>::max()) {
    return value;
  }
  Problem(absl::StrCat(name, "='", absl::CEscape(text), "': expected a whole number from ", least,
                       " up"));
  return std::nullopt;
}

void EnvironmentReader::CheckBelow(absl::string_view rank_name, std::optional<int64_t> rank,
                                   absl::string_view size_name, std::optional<int64_t> size) {
  if (!rank.has_value() || !size.has_value() || *rank < *size) return;
  Problem(absl::StrCat(rank_name, "=", *rank, " is not below ", size_name, "=", *size));
}

void EnvironmentReader::ReadRank(absl::string_view rank_name, std::optional<int64_t>& rank,
                                 absl::string_view size_name, std::optional<int64_t>& size) {
  rank = Number(rank_name);
  size = Number(size_name, 1);
  CheckBelow(rank_name, rank, size_name, size);
}

}  // namespace autobatch
