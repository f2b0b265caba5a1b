#include "tools/progress_lines.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autobatch/base/clock.h"
#include "autobatch/base/files.h"
#include "autobatch/report/text.h"

namespace autobatch {

ProgressLines::ProgressLines(std::string program, bool quiet)
    : program_(std::move(program)), quiet_(quiet) {}

ProgressLines::~ProgressLines() {
  MutexLock lock(mutex_);
  for (const std::string& line : limiter_.Finish()) Write(line);
}

void ProgressLines::Say(absl::string_view text) {
  if (quiet_) return;
  MutexLock lock(mutex_);
  for (const std::string& line : limiter_.Take(text, Clock::Real().Now())) Write(line);
}

void ProgressLines::Complain(absl::string_view text) const { Write(text); }

void ProgressLines::Write(absl::string_view text) const {
  std::string out;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&out, program_, ": ", EscapeControls(std::string(line)), "\n");
  }
  // Nobody to show progress to is no reason to stop.
  WriteAll(STDERR_FILENO, out, "stderr").IgnoreError();
}

}  // namespace autobatch
