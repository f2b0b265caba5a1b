#ifndef AUTOBATCH_REPORT_PROGRESS_H_
#define AUTOBATCH_REPORT_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "autobatch/types/device.h"
#include "autobatch/types/observation.h"

namespace autobatch {

// One line, without its newline, about a trial that ended:
//   cuda:0  explore batch 64: ran, peak 11.20 of 22.00 GiB, 85.2 ms/step, 751.2 samples/s
//   cuda:1  confirm batch 96: out of memory in backward of step 2, budget 22.00 GiB: tried to …
// The message's control characters are escaped, so that a child cannot write lines of its own.
std::string TrialLine(const Device& device, const Observation& observation);

// What a device is doing now.
struct LiveEvent {
  TrialPurpose purpose = TrialPurpose::kExplore;
  int64_t batch = 0;
  std::optional<TrialPhase> phase;
  // Steps done and asked for; step 0: none yet.
  int64_t step = 0;
  int64_t steps = 0;
};

// One live line a device, redrawn in place on a terminal. It only makes text: the caller writes
// what is returned, at once and in order, to a terminal that understands ECMA-48 (every one in
// use).
//
//   LiveLines live({"cuda:0", "cuda:1"});
//   write(live.Update(0, event, width));
//   write(live.Print(TrialLine(device, observation), width));  // Stays above the live lines.
//   write(live.Clear());                                       // Before anything else is written.
//
// Not thread-safe: one owner.
class LiveLines {
 public:
  explicit LiveLines(const std::vector<std::string>& names);

  // Device `index` does `event` now: the text that redraws all lines. `width`: the terminal's
  // columns; a line is cut one short of it, since a line that wraps could not be redrawn.
  std::string Update(size_t index, const LiveEvent& event, int width);

  // Device `index` is through; `text` says how ("batch 96 confirmed").
  std::string Finish(size_t index, absl::string_view text, int width);

  // A line that stays, above the live ones. It may wrap.
  std::string Print(absl::string_view line, int width);

  // Removes the live lines. The next call draws them again.
  std::string Clear();

 private:
  std::string Redraw(absl::string_view above, int width);

  std::vector<std::string> names_;
  std::vector<std::string> states_;
  // Lines on the screen now, the cursor at the start of the one below them.
  size_t drawn_ = 0;
};

}  // namespace autobatch

#endif  // AUTOBATCH_REPORT_PROGRESS_H_
