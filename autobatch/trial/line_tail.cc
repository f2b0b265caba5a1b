#include "autobatch/trial/line_tail.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace autobatch {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Bytes of the well-formed UTF-8 character at the front of `text`, 0 if it is none.
size_t CharacterSize(absl::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return lead >= 0x20 || lead == '\n' || lead == '\t' ? 1 : 0;
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if (!IsContinuation(text[i])) return 0;
  }
  // Overlong forms, surrogates, beyond U+10FFFF.
  const auto second = static_cast<unsigned char>(text[1]);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return size;
}

}  // namespace

void LineTail::Append(absl::string_view bytes) {
  if (bytes.size() > max_bytes_) bytes.remove_prefix(bytes.size() - max_bytes_);
  buffer_.append(bytes.data(), bytes.size());
  if (buffer_.size() > 2 * max_bytes_) buffer_.erase(0, buffer_.size() - max_bytes_);
}

std::string LineTail::Text() const {
  absl::string_view text = buffer_;
  absl::ConsumeSuffix(&text, "\n");
  absl::ConsumeSuffix(&text, "\r");
  if (text.size() > max_bytes_) text.remove_prefix(text.size() - max_bytes_);
  size_t start = text.size();
  for (size_t lines = 0; lines < max_lines_ && start != 0; ++lines) {
    const size_t newline = start == 0 ? absl::string_view::npos : text.rfind('\n', start - 1);
    start = newline == absl::string_view::npos ? 0 : newline;
  }
  text.remove_prefix(start);
  absl::ConsumePrefix(&text, "\n");
  std::string clean;
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    if (size > 0) {
      absl::StrAppend(&clean, text.substr(0, size));
    } else if (text[0] == '\r') {
      // Progress bars rewrite their line; "\r\n" is one newline.
      if (text.size() < 2 || text[1] != '\n') clean += '\n';
    } else {
      clean += '?';
    }
    text.remove_prefix(size > 0 ? size : 1);
  }
  return clean;
}

}  // namespace autobatch
