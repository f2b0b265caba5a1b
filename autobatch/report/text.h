#ifndef AUTOBATCH_REPORT_TEXT_H_
#define AUTOBATCH_REPORT_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace autobatch {

// Text from outside (device names, a child's stderr) as one harmless line: control characters and
// invalid UTF-8 become "\n", "\t", "\x1b" …, bidirectional overrides "\u202e". Valid UTF-8 stays.
std::string EscapeControls(absl::string_view text);

// A warning as every program and every output gives it, its text escaped: "warning: TEXT".
inline constexpr absl::string_view kWarning = "warning: ";
std::string WarningText(absl::string_view warning);

// Columns that valid UTF-8 takes on a terminal: combining marks 0, East Asian wide and emoji 2,
// others 1.
int DisplayWidth(absl::string_view text);

// At most `width` columns, an ellipsis at the end when something was cut.
std::string Shorten(absl::string_view text, int width);

// Spaces up to `width` columns, behind or before the text.
std::string PadRight(absl::string_view text, int width);
std::string PadLeft(absl::string_view text, int width);

// Lines of at most `width` columns, broken at spaces; a longer word keeps a line of its own.
std::vector<std::string> Wrap(absl::string_view text, int width);

}  // namespace autobatch

#endif  // AUTOBATCH_REPORT_TEXT_H_
