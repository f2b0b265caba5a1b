#ifndef AUTOBATCH_TRIAL_LINE_TAIL_H_
#define AUTOBATCH_TRIAL_LINE_TAIL_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace autobatch {

// The last lines of a stream of any length, in bounded memory.
class LineTail {
 public:
  LineTail(size_t max_lines, size_t max_bytes) : max_lines_(max_lines), max_bytes_(max_bytes) {}

  // Keeps twice `max_bytes` at most.
  void Append(absl::string_view bytes);

  // The last `max_lines` lines within the last `max_bytes` bytes, without the last newline. Of a
  // longer line only the end is left. Bytes that are not UTF-8 text are shown as '?', so that the
  // result can stand in JSON and on a terminal.
  std::string Text() const;

 private:
  const size_t max_lines_;
  const size_t max_bytes_;
  std::string buffer_;
};

}  // namespace autobatch

#endif  // AUTOBATCH_TRIAL_LINE_TAIL_H_
