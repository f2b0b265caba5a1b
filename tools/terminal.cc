#include "tools/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/files.h"
#include "autobatch/report/words.h"
#include "autobatch/types/enum_names.h"

namespace autobatch {
namespace {

std::vector<std::string> Addresses(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device& device : devices) names.push_back(device.address);
  return names;
}

int Columns() { return Terminal::Width(STDERR_FILENO, 100); }

std::string Outcome(const DeviceResult& result) {
  const std::optional<int64_t> answer = AnswerBatch(result);
  if (answer.has_value()) return absl::StrCat("batch ", *answer, " ", EnumName(result.status));
  return result.failure.has_value() ? EnumName(result.failure->kind) : "no batch";
}

}  // namespace

Terminal::Terminal(std::vector<Device> devices)
    : devices_(std::move(devices)),
      is_terminal_(isatty(STDERR_FILENO) == 1),
      live_(Addresses(devices_)),
      events_(devices_.size()) {}

int Terminal::Width(int descriptor, int otherwise) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

void Terminal::OnProgress(size_t device, const TrialSpec& trial, const Reply& reply) {
  if (!is_terminal_) return;
  LiveEvent& event = events_[device];
  if (event.batch != trial.batch || event.purpose != trial.purpose) event = LiveEvent{};
  event.purpose = trial.purpose;
  event.batch = trial.batch;
  event.steps = trial.steps;
  if (reply.phase.has_value()) event.phase = reply.phase;
  if (reply.step.has_value()) event.step = reply.step->step;
  Write(live_.Update(device, event, Columns()));
}

void Terminal::OnTrial(size_t device, const Observation& observation) {
  const std::string line = TrialLine(devices_[device], observation);
  Write(is_terminal_ ? live_.Print(line, Columns()) : absl::StrCat(line, "\n"));
}

void Terminal::OnDevice(size_t device, const DeviceResult& result) {
  // What a seed estimator logs belongs to its answer.
  for (const std::string& line : result.log) {
    Write(is_terminal_ ? live_.Print(line, Columns()) : absl::StrCat(line, "\n"));
  }
  if (is_terminal_) Write(live_.Finish(device, Outcome(result), Columns()));
}

void Terminal::Clear() {
  if (is_terminal_) Write(live_.Clear());
}

void Terminal::Write(absl::string_view text) {
  // Nobody to show progress to is no reason to stop.
  WriteAll(STDERR_FILENO, text, "stderr").IgnoreError();
}

}  // namespace autobatch
