#include "autobatch/report/progress.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autobatch/base/counted.h"
#include "autobatch/base/units.h"
#include "autobatch/report/text.h"
#include "autobatch/report/words.h"
#include "autobatch/types/enum_names.h"

namespace autobatch {
namespace {

// Erases from the cursor to the end of the screen, or of the line.
constexpr char kEraseBelow[] = "\x1b[J";
constexpr char kEraseLine[] = "\x1b[K";

}  // namespace

std::string TrialLine(const Device& device, const Observation& observation) {
  std::string line = absl::StrCat(
      EscapeControls(device.address), device.simulated ? " (simulated)" : "", "  ",
      EnumName(observation.trial.purpose), " batch ", FormatCount(observation.trial.batch), ": ");
  absl::StrAppend(&line, observation.ok() ? "ran" : FailureWords(*observation.failure));
  if (const int64_t peak = observation.PeakReserved(); peak > 0) {
    absl::StrAppend(&line, ", peak ", FormatBytes(peak));
    if (observation.budget_bytes.has_value()) {
      absl::StrAppend(&line, " of ", FormatBytes(*observation.budget_bytes));
    }
  } else if (observation.budget_bytes.has_value()) {
    absl::StrAppend(&line, ", budget ", FormatBytes(*observation.budget_bytes));
  }
  if (!observation.ok()) {
    if (!observation.failure->message.empty()) {
      absl::StrAppend(&line, ": ", EscapeControls(observation.failure->message));
    }
    return line;
  }
  if (const double ms = observation.step_ms.value_or(0); ms > 0 && std::isfinite(ms)) {
    const double samples = static_cast<double>(observation.trial.batch) *
                           static_cast<double>(observation.trial.accumulation);
    absl::StrAppendFormat(&line, ", %.1f ms/step, %.1f samples/s", ms, samples * 1000 / ms);
  }
  if (observation.retries > 0) {
    absl::StrAppend(&line, ", ", Counted(observation.retries, "allocator retry"));
  }
  return line;
}

LiveLines::LiveLines(const std::vector<std::string>& names) : states_(names.size(), "waiting") {
  for (const std::string& name : names) names_.push_back(EscapeControls(name));
}

std::string LiveLines::Update(size_t index, const LiveEvent& event, int width) {
  std::string state = absl::StrCat(EnumName(event.purpose), " batch ", FormatCount(event.batch));
  if (event.steps > 0) absl::StrAppend(&state, "  step ", event.step, "/", event.steps);
  if (event.phase.has_value()) absl::StrAppend(&state, "  ", EnumName(*event.phase));
  return Finish(index, state, width);
}

std::string LiveLines::Finish(size_t index, absl::string_view text, int width) {
  if (index < states_.size()) states_[index] = EscapeControls(text);
  return Redraw("", width);
}

std::string LiveLines::Print(absl::string_view line, int width) {
  return Redraw(absl::StrCat(EscapeControls(line), kEraseLine, "\n"), width);
}

std::string LiveLines::Clear() {
  const std::string up = drawn_ == 0 ? "" : absl::StrCat("\r\x1b[", drawn_, "A");
  drawn_ = 0;
  return absl::StrCat(up, kEraseBelow);
}

// A line is erased behind its new text, not before it: no flicker.
std::string LiveLines::Redraw(absl::string_view above, int width) {
  std::string out = drawn_ == 0 ? "" : absl::StrCat("\r\x1b[", drawn_, "A");
  absl::StrAppend(&out, above);
  int name_width = 0;
  for (const std::string& name : names_) name_width = std::max(name_width, DisplayWidth(name));
  for (size_t i = 0; i < names_.size(); ++i) {
    const std::string line = absl::StrCat(PadRight(names_[i], name_width), "  ", states_[i]);
    absl::StrAppend(&out, Shorten(line, width - 1), kEraseLine, "\n");
  }
  drawn_ = names_.size();
  return absl::StrCat(out, kEraseBelow);
}

}  // namespace autobatch
