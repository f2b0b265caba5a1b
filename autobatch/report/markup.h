#ifndef AUTOBATCH_REPORT_MARKUP_H_
#define AUTOBATCH_REPORT_MARKUP_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace autobatch {

// Text from outside as text of an HTML or SVG element, or in a quoted attribute: no markup, no
// control characters.
std::string EscapeHtml(absl::string_view text);

// A table in a region that scrolls by itself on a narrow screen. `caption` names it for a screen
// reader and is not shown; titles and cells are markup already. A title that starts with '<' keeps
// its column left-aligned, as words are ("<device"); numbers go right.
std::string HtmlTable(absl::string_view caption, const std::vector<std::string>& titles,
                      const std::vector<std::vector<std::string>>& rows);

}  // namespace autobatch

#endif  // AUTOBATCH_REPORT_MARKUP_H_
