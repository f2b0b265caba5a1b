#ifndef TOOLS_PROGRESS_LINES_H_
#define TOOLS_PROGRESS_LINES_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "autobatch/base/mutex.h"
#include "orchestrator/service/line_limiter.h"

namespace autobatch {

// A program's progress on stderr: "coordinator: n1 at 10.0.0.3:4121 joined". What comes from peers
// commands no terminal and floods none. Thread-safe.
class ProgressLines {
 public:
  ProgressLines(std::string program, bool quiet);
  ~ProgressLines();
  ProgressLines(const ProgressLines&) = delete;
  ProgressLines& operator=(const ProgressLines&) = delete;

  // One or several lines.
  void Say(absl::string_view text);

  // What must be read is not limited, nor kept back by --quiet.
  void Complain(absl::string_view text) const;

 private:
  void Write(absl::string_view line) const;

  const std::string program_;
  const bool quiet_;
  Mutex mutex_;
  LineLimiter limiter_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace autobatch

#endif  // TOOLS_PROGRESS_LINES_H_
