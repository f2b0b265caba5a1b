#include "autobatch/trial/line_reader.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace autobatch {
namespace {

bool IsBinary(char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r'; }

}  // namespace

void LineReader::Append(absl::string_view bytes) {
  if (!broken_.ok()) return;
  buffer_.erase(0, start_);
  scanned_ -= start_;
  start_ = 0;
  buffer_.append(bytes.data(), bytes.size());
}

absl::StatusOr<std::optional<std::string>> LineReader::Next() {
  if (!broken_.ok()) return broken_;
  const size_t newline = buffer_.find('\n', scanned_);
  const size_t end = newline == std::string::npos ? buffer_.size() : newline;
  if (end - start_ > max_line_) {
    return Fail(absl::OutOfRangeError(absl::StrFormat("a line of more than %d bytes", max_line_)));
  }
  const auto binary = std::find_if(buffer_.begin() + scanned_, buffer_.begin() + end, IsBinary);
  if (binary != buffer_.begin() + end) {
    return Fail(absl::InvalidArgumentError(absl::StrFormat("byte 0x%02x, which no line of text has",
                                                           static_cast<unsigned char>(*binary))));
  }
  if (newline == std::string::npos) {
    scanned_ = end;
    return std::nullopt;
  }
  std::string line = buffer_.substr(start_, newline - start_);
  start_ = scanned_ = newline + 1;
  return line;
}

absl::Status LineReader::Fail(absl::Status status) {
  broken_ = std::move(status);
  buffer_ = std::string();
  start_ = scanned_ = 0;
  return broken_;
}

}  // namespace autobatch
