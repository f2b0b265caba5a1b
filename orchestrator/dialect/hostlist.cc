#include "orchestrator/dialect/hostlist.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

// Numbers longer than this do not fit an unsigned 64-bit integer.
constexpr size_t kMostDigits = 19;

// From `first` to `last`, written with `width` digits at least.
struct Range {
  uint64_t first = 0;
  uint64_t last = 0;
  size_t width = 0;
};

// Text, or what a bracket group stands for.
struct Piece {
  std::string text;
  std::vector<Range> ranges;
};

bool IsSeparator(char c) { return c == ',' || absl::ascii_isspace(c); }

absl::Status Malformed(absl::string_view text, size_t at, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("host list '", absl::CEscape(text), "': ", what,
                                                 " at character ", at + 1,
                                                 "; right would be n[01-16,20]"));
}

std::optional<uint64_t> Digits(absl::string_view text) {
  uint64_t value = 0;
  if (text.empty() || text.size() > kMostDigits) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), absl::ascii_isdigit)) return std::nullopt;
  return absl::SimpleAtoi(text, &value) ? std::optional(value) : std::nullopt;
}

std::optional<Range> ParseRange(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(text, absl::MaxSplits('-', 1));
  const std::optional<uint64_t> first = Digits(ends.first);
  const std::optional<uint64_t> last =
      text.size() == ends.first.size() ? first : Digits(ends.second);
  if (!first.has_value() || !last.has_value() || *last < *first) return std::nullopt;
  const bool padded = ends.first.size() > 1 && ends.first[0] == '0';
  return Range{*first, *last, padded ? ends.first.size() : 0};
}

// Reads one item, up to a separator outside brackets, into its pieces.
absl::Status ParseItem(absl::string_view text, size_t& at, std::vector<Piece>& pieces) {
  Piece piece;
  for (; at < text.size() && !IsSeparator(text[at]); ++at) {
    if (text[at] == ']') return Malformed(text, at, "a bracket is closed that was not opened");
    if (text[at] != '[') {
      piece.text += text[at];
      continue;
    }
    const size_t open = at;
    const size_t close = text.find_first_of("[]", open + 1);
    if (close == absl::string_view::npos)
      return Malformed(text, open, "this bracket is not closed");
    if (text[close] == '[') return Malformed(text, close, "a bracket inside a bracket");
    size_t start = open + 1;
    for (const absl::string_view part : absl::StrSplit(text.substr(start, close - start), ',')) {
      const std::optional<Range> range = ParseRange(part);
      if (!range.has_value()) return Malformed(text, start, "no number or ascending range");
      piece.ranges.push_back(*range);
      start += part.size() + 1;
    }
    pieces.push_back(std::move(piece));
    piece = {};
    at = close;
  }
  if (!piece.text.empty()) pieces.push_back(std::move(piece));
  return absl::OkStatus();
}

// How many hosts an item stands for; more than `most` is most + 1, so that nothing overflows.
size_t CountHosts(const std::vector<Piece>& pieces, size_t most) {
  size_t count = 1;
  for (const Piece& piece : pieces) {
    if (piece.ranges.empty()) continue;
    size_t numbers = 0;
    for (const Range& range : piece.ranges) {
      const uint64_t more = range.last - range.first;
      if (more >= most || numbers + more + 1 > most) return most + 1;
      numbers += more + 1;
    }
    if (count > most / numbers) return most + 1;
    count *= numbers;
  }
  return count;
}

std::string Number(uint64_t value, size_t width) {
  std::string digits = absl::StrCat(value);
  return digits.size() < width ? std::string(width - digits.size(), '0') + digits : digits;
}

// Appends every host of an item, the last group running fastest.
void AppendHosts(const std::vector<Piece>& pieces, size_t index, const std::string& prefix,
                 std::vector<std::string>& hosts) {
  if (index == pieces.size()) {
    hosts.push_back(prefix);
    return;
  }
  const Piece& piece = pieces[index];
  const std::string stem = prefix + piece.text;
  if (piece.ranges.empty()) return AppendHosts(pieces, index + 1, stem, hosts);
  for (const Range& range : piece.ranges) {
    for (uint64_t value = range.first;; ++value) {
      AppendHosts(pieces, index + 1, stem + Number(value, range.width), hosts);
      if (value == range.last) break;
    }
  }
}

absl::Status TooMany(size_t most) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the list stands for more than ", most, " nodes"));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandHostlist(absl::string_view text, size_t most) {
  std::vector<std::string> hosts;
  for (size_t at = 0; at < text.size();) {
    if (IsSeparator(text[at])) {
      ++at;
      continue;
    }
    std::vector<Piece> pieces;
    AB_RETURN_IF_ERROR(ParseItem(text, at, pieces));
    if (CountHosts(pieces, most) > most - hosts.size()) return TooMany(most);
    AppendHosts(pieces, 0, "", hosts);
  }
  return hosts;
}

absl::StatusOr<std::vector<int64_t>> ExpandTaskCounts(absl::string_view text, size_t most) {
  std::vector<int64_t> counts;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const size_t open = part.find("(x");
    const std::optional<uint64_t> tasks = Digits(part.substr(0, open));
    std::optional<uint64_t> nodes = 1;
    if (open != absl::string_view::npos) {
      nodes =
          part.back() == ')' ? Digits(part.substr(open + 2, part.size() - open - 3)) : std::nullopt;
    }
    if (!tasks.has_value() || *tasks > std::numeric_limits<int32_t>::max() ||
        nodes.value_or(0) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("task counts '", absl::CEscape(text), "': '",
                                                     absl::CEscape(part),
                                                     "' is none; right would be 2(x3),1"));
    }
    if (*nodes > most - counts.size()) return TooMany(most);
    counts.insert(counts.end(), *nodes, static_cast<int64_t>(*tasks));
  }
  return counts;
}

}  // namespace autobatch
