#include "autobatch/trial/command_memory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace autobatch {

CommandMemory::CommandMemory(const Device& device, const TrialSpec& trial, ReadDevice read_device,
                             std::optional<int64_t> known_context_bytes)
    : on_cpu_(device.kind == DeviceKind::kCpu),
      read_device_(std::move(read_device)),
      limit_(trial.limit_bytes),
      context_(known_context_bytes) {
  if (on_cpu_) return;
  before_.total_bytes = device.memory.total_bytes;
  if (read_device_) {
    if (const absl::StatusOr<MemoryInfo> now = read_device_(); now.ok()) {
      before_.free_bytes = now->free_bytes;
      if (!before_.total_bytes.has_value()) before_.total_bytes = now->total_bytes;
    } else {
      warnings_.push_back(
          absl::StrCat("the device's memory cannot be read: ", now.status().message()));
    }
  }
  if (before_.free_bytes.has_value()) {
    const int64_t room = std::max<int64_t>(0, *before_.free_bytes - trial.reserve_bytes);
    limit_ = std::min(limit_.value_or(room), room);
  }
}

std::optional<int64_t> CommandMemory::AllocatorLimit() const {
  if (!limit_.has_value()) return std::nullopt;
  // 0 would be no limit to the observer.
  return std::max<int64_t>(1, *limit_ - context_.value_or(0));
}

std::optional<double> CommandMemory::Fraction() const {
  if (on_cpu_ || !limit_.has_value() || before_.total_bytes.value_or(0) <= 0) return std::nullopt;
  return std::min(
      1.0, static_cast<double>(*AllocatorLimit()) / static_cast<double>(*before_.total_bytes));
}

void CommandMemory::Read(const ProcessTree& tree, absl::Duration since_start) {
  host_peak_ = std::max(host_peak_, tree.resident_bytes);
  if (on_cpu_) {
    watch_.Add(since_start, tree.resident_bytes);
    return;
  }
  if (!read_device_) return;
  const int64_t allocated = observed() ? observer_->held_bytes.load() : 0;
  if (const std::optional<int64_t> held = ReadHeld(tree.pids); held.has_value()) {
    watch_.Add(since_start, *held);
    // Only where nothing changed in between: the two are read a moment apart. A process at its end
    // has given back what the driver still counts.
    // Nor does the driver know of one that is gone without an end of its own.
    if (observed() && observer_->held_bytes == allocated && observer_->ended == 0 &&
        *held > allocated) {
      context_ = std::max(context_.value_or(0), *held - allocated);
    }
  }
}

std::optional<int64_t> CommandMemory::ReadHeld(const std::vector<int64_t>& pids) {
  const absl::StatusOr<MemoryInfo> now = read_device_();
  if (!now.ok()) return std::nullopt;
  int64_t held = 0;
  bool named = false;
  for (const ProcessUse& process : now->others) {
    const bool ours = std::find(pids.begin(), pids.end(), process.pid) != pids.end();
    if (!ours || !process.bytes.has_value()) continue;
    named = true;
    held += *process.bytes;
  }
  if (named) return held;
  if (!now->free_bytes.has_value() || !before_.free_bytes.has_value()) return std::nullopt;
  const int64_t grown = *before_.free_bytes - *now->free_bytes;
  if (grown <= 0) return 0;
  if (!grown_use_) {
    grown_use_ = true;
    warnings_.push_back(
        "the driver does not tell which process holds how much of the device: what its use grew by "
        "is taken for the command's");
  }
  return grown;
}

void CommandMemory::AddProcess(int64_t max_resident_bytes) {
  host_peak_ = std::max(host_peak_, max_resident_bytes);
  if (on_cpu_) watch_.AddPeak(max_resident_bytes);
}

double CommandMemory::Fullness() const {
  if (!limit_.has_value()) return 0;
  return static_cast<double>(peak_bytes()) / static_cast<double>(std::max<int64_t>(*limit_, 1));
}

std::optional<int64_t> CommandMemory::host_peak_bytes() const {
  if (host_peak_ <= 0) return std::nullopt;
  return host_peak_;
}

std::optional<double> CommonFraction(std::span<const CommandMemory> memories) {
  std::optional<double> largest;
  for (const CommandMemory& memory : memories) {
    const std::optional<double> fraction = memory.Fraction();
    if (!fraction.has_value()) return std::nullopt;
    largest = std::max(largest.value_or(0), *fraction);
  }
  return largest;
}

size_t LikelyCulprit(std::span<const CommandMemory> memories) {
  const auto culprit = std::max_element(memories.begin(), memories.end(),
                                        [](const CommandMemory& a, const CommandMemory& b) {
                                          return std::pair(a.refusals() > 0, a.Fullness()) <
                                                 std::pair(b.refusals() > 0, b.Fullness());
                                        });
  return culprit - memories.begin();
}

}  // namespace autobatch
