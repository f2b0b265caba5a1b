#include "autobatch/report/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace autobatch {
namespace {

// One code point of `text`, or `valid` false and one byte. Overlong forms and surrogates are
// invalid.
struct CodePoint {
  uint32_t value = 0;
  size_t size = 1;
  bool valid = false;
};

CodePoint Next(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {lead, 1, false};
  uint32_t value = lead & (0x7f >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {lead, 1, false};
    value = value << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = value < (size == 4 ? 0x10000u : size == 3 ? 0x800u : 0x80u);
  if (overlong || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return {lead, 1, false};
  return {value, size, true};
}

bool In(uint32_t c, uint32_t first, uint32_t last) { return first <= c && c <= last; }

// Invisible, but able to reorder or end a line in a terminal or an editor.
bool IsUnsafe(uint32_t c) {
  return c < 0x20 || In(c, 0x7f, 0x9f) || In(c, 0x200e, 0x200f) || In(c, 0x2028, 0x202e) ||
         In(c, 0x2066, 0x2069) || c == 0x061c || c == 0xfeff;
}

// Coarse on purpose: device and host names, not typography.
int Columns(uint32_t c) {
  if (In(c, 0x300, 0x36f) || In(c, 0x200b, 0x200d) || In(c, 0x20d0, 0x20ff) ||
      In(c, 0xfe00, 0xfe0f)) {
    return 0;
  }
  const bool wide = In(c, 0x1100, 0x115f) || In(c, 0x2e80, 0x303e) || In(c, 0x3041, 0xa4cf) ||
                    In(c, 0xac00, 0xd7a3) || In(c, 0xf900, 0xfaff) || In(c, 0xfe30, 0xfe6f) ||
                    In(c, 0xff00, 0xff60) || In(c, 0xffe0, 0xffe6) || In(c, 0x1f300, 0x1faff) ||
                    In(c, 0x20000, 0x3fffd);
  return wide ? 2 : 1;
}

}  // namespace

std::string EscapeControls(absl::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint c = Next(text);
    if (c.valid && !IsUnsafe(c.value)) {
      absl::StrAppend(&out, text.substr(0, c.size));
    } else if (c.value == '\n') {
      out += "\\n";
    } else if (c.value == '\r') {
      out += "\\r";
    } else if (c.value == '\t') {
      out += "\\t";
    } else if (c.valid && c.value >= 0x80) {
      absl::StrAppendFormat(&out, "\\u%04x", c.value);
    } else {
      absl::StrAppendFormat(&out, "\\x%02x", c.value);
    }
    text.remove_prefix(c.size);
  }
  return out;
}

std::string WarningText(absl::string_view warning) {
  return absl::StrCat(kWarning, EscapeControls(warning));
}

int DisplayWidth(absl::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const CodePoint c = Next(text);
    width += Columns(c.value);
    text.remove_prefix(c.size);
  }
  return width;
}

std::string Shorten(absl::string_view text, int width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width <= 0) return "";
  size_t end = 0;
  int used = 0;
  while (end < text.size()) {
    const CodePoint c = Next(text.substr(end));
    if (used + Columns(c.value) > width - 1) break;
    used += Columns(c.value);
    end += c.size;
  }
  return absl::StrCat(text.substr(0, end), "…");
}

std::string PadRight(absl::string_view text, int width) {
  return absl::StrCat(text, std::string(std::max(0, width - DisplayWidth(text)), ' '));
}

std::string PadLeft(absl::string_view text, int width) {
  return absl::StrCat(std::string(std::max(0, width - DisplayWidth(text)), ' '), text);
}

std::vector<std::string> Wrap(absl::string_view text, int width) {
  std::vector<std::string> lines;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!lines.empty() && DisplayWidth(lines.back()) + 1 + DisplayWidth(word) <= width) {
      absl::StrAppend(&lines.back(), " ", word);
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

}  // namespace autobatch
