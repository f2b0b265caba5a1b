#include "autobatch/trial/error_log.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "autobatch/types/failure_text.h"

namespace autobatch {
namespace {

constexpr absl::string_view kTrace = "Traceback (most recent call last)";
constexpr absl::string_view kLaunchersErrors[] = {"errors.ChildFailedError",
                                                  "subprocess.CalledProcessError"};

// "[rank1]: text" -> "rank1", and `line` becomes the text; "" of a line without such a mark.
absl::string_view TakeRank(absl::string_view& line) {
  absl::string_view rest = line;
  if (!absl::ConsumePrefix(&rest, "[rank")) return "";
  const size_t end = rest.find("]:");
  if (end == absl::string_view::npos || end == 0 || end > 6) return "";
  const absl::string_view rank = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  absl::ConsumePrefix(&rest, " ");
  line = rest;
  return rank;
}

// What one rank, or everybody without a mark, has written so far.
struct Stream {
  bool in_trace = false;
  // Where its last error stands, and what it says.
  std::optional<size_t> at;
  absl::string_view error;
};

// The streams by their rank, "" first; `order` has them by their first error.
std::map<absl::string_view, Stream> ReadStreams(const std::vector<absl::string_view>& lines,
                                                std::vector<absl::string_view>& order) {
  std::map<absl::string_view, Stream> streams;
  for (size_t i = 0; i < lines.size(); ++i) {
    absl::string_view line = lines[i];
    const absl::string_view rank = TakeRank(line);
    Stream& stream = streams[rank];
    if (absl::StartsWith(line, kTrace)) {
      stream.in_trace = true;
      continue;
    }
    // Frames are indented, the error is not.
    if (!stream.in_trace || line.empty() || absl::ascii_isspace(line[0])) continue;
    stream.in_trace = false;
    const bool launchers =
        std::any_of(std::begin(kLaunchersErrors), std::end(kLaunchersErrors),
                    [&](absl::string_view name) { return absl::StrContains(line, name); });
    if (launchers) continue;
    if (!stream.at.has_value()) order.push_back(rank);
    stream.at = i;
    stream.error = line;
  }
  return streams;
}

size_t LastThatSaysSomething(const std::vector<absl::string_view>& lines) {
  for (size_t i = lines.size(); i > 0; --i) {
    const absl::string_view line = lines[i - 1];
    // Rulers are no words.
    if (std::any_of(line.begin(), line.end(),
                    [](unsigned char c) { return absl::ascii_isalnum(c); })) {
      return i - 1;
    }
  }
  return lines.size() - 1;
}

}  // namespace

LoggedError FindLoggedError(absl::string_view log, size_t most) {
  const std::vector<absl::string_view> lines = absl::StrSplit(log, '\n');
  std::vector<absl::string_view> order;
  const std::map<absl::string_view, Stream> streams = ReadStreams(lines, order);
  const auto ranked = std::find_if(order.begin(), order.end(),
                                   [](absl::string_view rank) { return !rank.empty(); });
  LoggedError found;
  size_t at = LastThatSaysSomething(lines);
  if (ranked != order.end() || !order.empty()) {
    const Stream& stream = streams.at(ranked != order.end() ? *ranked : order.front());
    at = *stream.at;
    found.line = ErrorSummary(stream.error);
  } else if (!absl::StripAsciiWhitespace(lines[at]).empty()) {
    found.line = ErrorSummary(absl::StripAsciiWhitespace(lines[at]));
  }
  // Of an error without a trace whatever came after it may matter too.
  const size_t end = order.empty() ? lines.size() : at + 1;
  const size_t begin = end > most ? end - most : 0;
  found.excerpt = absl::StrJoin(lines.begin() + static_cast<ptrdiff_t>(begin),
                                lines.begin() + static_cast<ptrdiff_t>(end), "\n");
  return found;
}

}  // namespace autobatch
