#include "autobatch/base/units.h"

#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace autobatch {
namespace {

struct Unit {
  absl::string_view name;
  double bytes;
};

constexpr double kTiB = 1024.0 * kGiB;

constexpr Unit kUnits[] = {
    {"", 1},       {"b", 1},      {"kib", kKiB}, {"k", kKiB},   {"kb", 1e3},
    {"mib", kMiB}, {"m", kMiB},   {"mb", 1e6},   {"gib", kGiB}, {"g", kGiB},
    {"gb", 1e9},   {"tib", kTiB}, {"t", kTiB},   {"tb", 1e12},
};

}  // namespace

absl::StatusOr<int64_t> ParseBytes(absl::string_view text) {
  const absl::string_view stripped = absl::StripAsciiWhitespace(text);
  const size_t digits = stripped.find_first_not_of("0123456789.");
  const absl::string_view number = stripped.substr(0, digits);
  const std::string unit = absl::AsciiStrToLower(
      digits == absl::string_view::npos ? absl::string_view()
                                        : absl::StripAsciiWhitespace(stripped.substr(digits)));
  double value = 0;
  if (!number.empty() && absl::SimpleAtod(number, &value)) {
    for (const Unit& candidate : kUnits) {
      if (candidate.name != unit) continue;
      const double bytes = std::floor(value * candidate.bytes);
      if (bytes >= static_cast<double>(std::numeric_limits<int64_t>::max())) break;
      return static_cast<int64_t>(bytes);
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a size in bytes; right would be 2GiB, 512MiB or 800MB"));
}

std::string FormatBytes(int64_t bytes) {
  const double size = std::abs(static_cast<double>(bytes));
  if (size >= kGiB) return absl::StrFormat("%.2f GiB", static_cast<double>(bytes) / kGiB);
  if (size >= kMiB) return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / kMiB);
  if (size >= kKiB) return absl::StrFormat("%.1f KiB", static_cast<double>(bytes) / kKiB);
  return absl::StrCat(bytes, " B");
}

std::string FormatCount(int64_t count) {
  std::string text = absl::StrCat(count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t at = text.size(); at > first + 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace autobatch
