#include "orchestrator/launch/split_words.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace autobatch {

absl::StatusOr<std::vector<std::string>> SplitWords(absl::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quote == 0 && absl::ascii_isspace(c)) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else if (c == '\\' && quote != '\'' && at + 1 < text.size()) {
      // Between double quotes a backslash keeps itself, unless it is needed.
      const char next = text[++at];
      if (quote == '"' && next != '"' && next != '\\' && next != '$' && next != '`') {
        words.back() += c;
      }
      words.back() += next;
    } else {
      words.back() += c;
    }
  }
  if (quote == 0) return words;
  return absl::InvalidArgumentError(absl::StrCat("'", absl::CEscape(text), "': the quote ",
                                                 std::string(1, quote), " is not closed"));
}

}  // namespace autobatch
