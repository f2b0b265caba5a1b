#include "orchestrator/plan/straggler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "autobatch/base/counted.h"
#include "autobatch/base/units.h"
#include "autobatch/report/text.h"
#include "autobatch/types/enum_names.h"

namespace autobatch {
namespace {

// Cards of one model differ by what their firmware keeps (ECC): this much is no smaller card.
constexpr double kSameMemory = 0.05;

struct Member {
  const std::string* node = nullptr;
  const DeviceOutcome* device = nullptr;
};

struct Explanation {
  StragglerCause cause = StragglerCause::kNone;
  std::string reason;
};

std::vector<Member> MembersOf(std::span<const NodeOutcomes> nodes) {
  std::vector<Member> members;
  for (const NodeOutcomes& node : nodes) {
    for (const DeviceOutcome& device : node.devices) members.push_back({&node.node, &device});
  }
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::tie(*a.node, a.device->address, a.device->uuid) <
           std::tie(*b.node, b.device->address, b.device->uuid);
  });
  return members;
}

int64_t Saturated(absl::int128 value) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return value > kMost ? kMost : static_cast<int64_t>(value);
}

template <typename Keep>
std::optional<WhatIf> If(const std::vector<Member>& members, Keep keep) {
  WhatIf what;
  for (const Member& member : members) {
    if (!keep(member)) continue;
    what.batch =
        what.devices == 0 ? member.device->batch : std::min(what.batch, member.device->batch);
    ++what.devices;
  }
  if (what.devices == 0) return std::nullopt;
  what.samples = Saturated(absl::int128(what.devices) * what.batch);
  return what;
}

std::string Called(const std::string& node, const DeviceOutcome& device) {
  return absl::StrCat(EscapeControls(node), " ", EscapeControls(device.address), " (",
                      EscapeControls(device.name), device.simulated ? ", simulated" : "", ")");
}

// Bytes that other processes hold; where the driver does not tell of one, what it tells of the
// rest.
int64_t OthersBytes(const DeviceOutcome& device) {
  absl::int128 bytes = 0;
  for (const ProcessUse& process : device.others) bytes += process.bytes.value_or(0);
  return Saturated(bytes);
}

std::string OthersWords(const DeviceOutcome& device) {
  return absl::StrJoin(device.others, ", ", [](std::string* out, const ProcessUse& process) {
    absl::StrAppend(out, process.name.empty() ? "a process" : EscapeControls(process.name),
                    " (pid ", process.pid, ")",
                    process.bytes.has_value() ? " with " + FormatBytes(*process.bytes) : "");
  });
}

bool SameMemory(const DeviceOutcome& a, const DeviceOutcome& b) {
  if (!a.total_bytes.has_value() || !b.total_bytes.has_value()) return true;
  const double x = static_cast<double>(*a.total_bytes);
  const double y = static_cast<double>(*b.total_bytes);
  return std::abs(x - y) <= kSameMemory * std::max(x, y);
}

// The device that shows best what this one could take: an equal one that takes more, else one with
// more memory, else any that takes more; of several the one that takes the most.
const Member* Better(const std::vector<Member>& members, const DeviceOutcome& device) {
  const auto rank = [&](const DeviceOutcome& other) {
    if (other.name == device.name && SameMemory(other, device)) return 2;
    return other.total_bytes.value_or(0) > device.total_bytes.value_or(0) ? 1 : 0;
  };
  const Member* best = nullptr;
  for (const Member& member : members) {
    if (member.device->batch <= device.batch) continue;
    if (best == nullptr || std::pair(rank(*member.device), member.device->batch) >
                               std::pair(rank(*best->device), best->device->batch)) {
      best = &member;
    }
  }
  return best;
}

// Why this device takes no more. Not memory comes first: a limit of ours holds on any card.
Explanation Explain(const std::vector<Member>& members, const DeviceOutcome& device) {
  if (device.batch == 0 || device.status == ResultStatus::kFailed) {
    return {StragglerCause::kFailure,
            device.message.empty()
                ? "it has no safe batch"
                : absl::StrCat(device.failure.has_value()
                                   ? absl::StrReplaceAll(EnumName(*device.failure), {{"_", " "}})
                                   : "failed",
                               ": ", EscapeControls(device.message))};
  }
  const Member* better = Better(members, device);
  if (better == nullptr) return {StragglerCause::kNone, "every device takes the same"};
  const DeviceOutcome& other = *better->device;
  const std::string compared =
      absl::StrCat(Called(*better->node, other), " takes ", FormatCount(other.batch));
  if (device.status == ResultStatus::kPartial) {
    return {StragglerCause::kFailure,
            absl::StrCat("its search was ended before it was done",
                         device.message.empty() ? "" : ": " + EscapeControls(device.message), "; ",
                         compared)};
  }
  if (device.bound != BatchBound::kMemory && device.bound != BatchBound::kNone &&
      device.bound != other.bound) {
    return {
        StragglerCause::kOtherLimit,
        absl::StrCat("it is limited by ", absl::StrReplaceAll(EnumName(device.bound), {{"_", " "}}),
                     ", not by memory; ", compared)};
  }
  const bool crowded = !device.others.empty() && OthersBytes(device) >= OthersBytes(other);
  const std::string processes =
      crowded ? absl::StrCat("other processes hold its memory: ", OthersWords(device)) : "";
  const bool smaller = device.total_bytes.has_value() && other.total_bytes.has_value() &&
                       *device.total_bytes < *other.total_bytes && !SameMemory(device, other);
  if (smaller) {
    return {StragglerCause::kSmallerDevice,
            absl::StrCat("it has ", FormatBytes(*device.total_bytes), "; ", compared, " with ",
                         FormatBytes(*other.total_bytes), crowded ? "; besides, " : "", processes)};
  }
  if (crowded) return {StragglerCause::kOtherProcesses, absl::StrCat(processes, "; ", compared)};
  return {StragglerCause::kUnknown, absl::StrCat(compared, ", and nothing reported says why")};
}

// The order in which one cause is more worth telling than another.
int Weight(StragglerCause cause) {
  switch (cause) {
    case StragglerCause::kFailure:
      return 5;
    case StragglerCause::kOtherProcesses:
      return 4;
    case StragglerCause::kSmallerDevice:
      return 3;
    case StragglerCause::kOtherLimit:
      return 2;
    case StragglerCause::kUnknown:
      return 1;
    case StragglerCause::kNone:
      return 0;
  }
  return 0;
}

std::string Line(absl::string_view what, const WhatIf& now) {
  return absl::StrCat("  ", what, ": ", FormatCount(now.batch), " × ",
                      Counted(now.devices, "device"), " = ", FormatCount(now.samples),
                      " samples a micro-step\n");
}

}  // namespace

absl::StatusOr<StragglerReport> FindStraggler(std::span<const NodeOutcomes> nodes) {
  const std::vector<Member> members = MembersOf(nodes);
  const std::optional<WhatIf> now = If(members, [](const Member&) { return true; });
  if (!now.has_value()) return absl::InvalidArgumentError("no node reported a device");

  StragglerReport report{.now = *now};
  const Member* straggler = nullptr;
  absl::int128 shares = 0;
  for (const Member& member : members) {
    shares += member.device->batch;
    report.simulated |= member.device->simulated;
    if (member.device->batch != now->batch) continue;
    ++report.devices_at_minimum;
    Explanation explanation = Explain(members, *member.device);
    if (straggler != nullptr && Weight(explanation.cause) <= Weight(report.cause)) continue;
    straggler = &member;
    report.cause = explanation.cause;
    report.reason = std::move(explanation.reason);
  }
  report.node = *straggler->node;
  report.device = *straggler->device;
  report.samples_with_shares = Saturated(shares);
  report.without_device =
      If(members, [&](const Member& m) { return m.device != straggler->device; });
  report.without_node = If(members, [&](const Member& m) { return *m.node != report.node; });
  report.without_minimum =
      If(members, [&](const Member& m) { return m.device->batch != now->batch; });
  return report;
}

std::string StragglerText(const StragglerReport& report) {
  const absl::string_view simulated =
      report.simulated ? "  some of these devices are simulated\n" : "";
  if (report.cause == StragglerCause::kNone) {
    return absl::StrCat("No device holds the others back.\n", Line("as it is", report.now),
                        simulated);
  }
  std::string text = absl::StrCat("The minimum, ", FormatCount(report.now.batch), ", is set by ",
                                  Called(report.node, report.device), ": ", report.reason, ".\n");
  if (report.devices_at_minimum > 1) {
    absl::StrAppend(&text, "  ", FormatCount(report.devices_at_minimum),
                    " devices take no more than that\n");
  }
  absl::StrAppend(&text, Line("as it is", report.now));
  if (report.without_device.has_value()) {
    absl::StrAppend(&text, Line("without this device", *report.without_device));
  }
  if (report.without_node.has_value()) {
    absl::StrAppend(
        &text, Line(absl::StrCat("without ", EscapeControls(report.node)), *report.without_node));
  }
  if (report.devices_at_minimum > 1 && report.without_minimum.has_value()) {
    absl::StrAppend(&text, Line("without every device at the minimum", *report.without_minimum));
  }
  absl::StrAppend(&text,
                  "  with a share for each device: ", FormatCount(report.samples_with_shares),
                  " samples a micro-step\n");
  return absl::StrCat(text, simulated);
}

}  // namespace autobatch
