#ifndef AUTOBATCH_TRIAL_LINE_READER_H_
#define AUTOBATCH_TRIAL_LINE_READER_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// Bytes in any pieces -> whole lines of text, in bounded memory.
//
//   reader.Append(bytes);
//   while (true) {
//     AB_ASSIGN_OR_RETURN(std::optional<std::string> line, reader.Next());
//     if (!line.has_value()) break;  // more bytes are needed
//     ...
//   }
// Errors are for good: nothing after them can be trusted.
class LineReader {
 public:
  // Lines may have up to `max_line` bytes, without the newline.
  explicit LineReader(size_t max_line) : max_line_(max_line) {}

  // Keeps at most `max_line` bytes of an unfinished line, beside `bytes` themselves.
  void Append(absl::string_view bytes);

  // The next line without its newline; absent when it is not whole yet. OutOfRange: the line is
  // longer than allowed. InvalidArgument: a byte that no text has (a control character other than
  // tab and carriage return).
  absl::StatusOr<std::optional<std::string>> Next();

  // Bytes of the line that is not whole yet.
  size_t unfinished_bytes() const { return buffer_.size() - start_; }

 private:
  absl::Status Fail(absl::Status status);

  const size_t max_line_;
  std::string buffer_;
  size_t start_ = 0;    // Of the next line.
  size_t scanned_ = 0;  // No newline in [start_, scanned_).
  absl::Status broken_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_LINE_READER_H_
