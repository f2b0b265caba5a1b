#include "autobatch/report/markup.h"

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autobatch/report/text.h"

namespace autobatch {

std::string EscapeHtml(absl::string_view text) {
  return absl::StrReplaceAll(
      EscapeControls(text),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string HtmlTable(absl::string_view caption, const std::vector<std::string>& titles,
                      const std::vector<std::vector<std::string>>& rows) {
  const std::string name = EscapeHtml(caption);
  std::string html =
      absl::StrCat("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", name,
                   "\"><table><caption>", name, "</caption><thead><tr>");
  const auto is_words = [&](size_t column) { return absl::StartsWith(titles[column], "<"); };
  for (size_t c = 0; c < titles.size(); ++c) {
    absl::StrAppend(&html, "<th scope=\"col\"", is_words(c) ? " class=\"words\">" : ">",
                    titles[c].substr(is_words(c) ? 1 : 0), "</th>");
  }
  absl::StrAppend(&html, "</tr></thead><tbody>\n");
  for (const std::vector<std::string>& row : rows) {
    absl::StrAppend(&html, "<tr>");
    for (size_t c = 0; c < row.size(); ++c) {
      const char* tag = c == 0 ? "th" : "td";
      absl::StrAppend(&html, "<", tag, c == 0 ? " scope=\"row\"" : "",
                      is_words(c) ? " class=\"words\"><div>" : ">", row[c],
                      is_words(c) ? "</div></" : "</", tag, ">");
    }
    absl::StrAppend(&html, "</tr>\n");
  }
  return absl::StrCat(html, "</tbody></table></div>\n");
}

}  // namespace autobatch
