#include "orchestrator/core/combine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autobatch/types/enum_names.h"
#include "autobatch/types/failure.h"
#include "orchestrator/core/exit_codes.h"
#include "orchestrator/core/launcher_check.h"

namespace autobatch {
namespace {

// Devices and contradictions that one reason names; the rest is counted.
constexpr size_t kNamed = 8;

std::string Listed(std::vector<std::string> texts) {
  if (texts.size() > kNamed) {
    const size_t more = texts.size() - kNamed;
    texts.resize(kNamed);
    texts.push_back(absl::StrCat("and ", more, " more"));
  }
  return absl::StrJoin(texts, "; ");
}

std::string WhyNot(absl::string_view agent, const DeviceOutcome& device) {
  return absl::StrCat(
      device.uuid, device.address.empty() ? "" : absl::StrCat(" (", device.address, ")"), " of ",
      agent, ": ", device.failure.has_value() ? EnumName(*device.failure) : std::string("no batch"),
      device.message.empty() ? "" : absl::StrCat(", ", device.message));
}

// What the programs say when these devices have no batch.
int ExitCodeOf(const DeviceOutcome& device) {
  return device.failure.has_value() && IsMemoryCeiling(*device.failure) ? kExitNothingFits
                                                                        : kExitCannotRun;
}

}  // namespace

Combined Combine(std::span<const Contribution> contributions, FailedDevicePolicy policy,
                 int64_t max_nodes) {
  Combined combined;
  std::vector<std::string> failed;
  int failed_code = kExitNothingFits;
  std::vector<LauncherView> views;
  const DeviceOutcome* least = nullptr;
  for (const Contribution& contribution : contributions) {
    RoundMember member;
    member.agent = std::string(contribution.agent);
    for (const DeviceOutcome& device : *contribution.outcomes) {
      combined.facts.simulated |= device.simulated;
      if (device.batch == 0) {
        failed.push_back(WhyNot(contribution.agent, device));
        failed_code = std::max(failed_code, ExitCodeOf(device));
        continue;
      }
      if (least == nullptr || device.batch < least->batch) {
        least = &device;
        combined.facts.minimum_node = member.agent;
      }
      member.devices.push_back(device);
    }
    if (member.devices.empty()) {
      combined.excluded.push_back(member.agent);
      continue;
    }
    views.push_back({.agent = contribution.agent,
                     .boot_id = contribution.boot_id,
                     .claims = *contribution.claims,
                     .devices = static_cast<int64_t>(member.devices.size())});
    combined.facts.members.push_back(std::move(member));
  }
  if (!failed.empty() && (policy == FailedDevicePolicy::kFail || least == nullptr)) {
    combined.failure = {failed_code, absl::StrCat("cannot train: ", Listed(failed))};
    return combined;
  }
  if (least == nullptr) {
    combined.failure = {kExitNoDevice, "nobody has a device"};
    return combined;
  }
  if (!failed.empty()) {
    combined.notes.push_back(absl::StrCat("left out, by policy: ", Listed(std::move(failed))));
  }
  LauncherVerdict verdict = CheckLaunchers(views, max_nodes);
  if (!verdict.contradictions.empty()) {
    combined.failure = {kExitNoAgreement, Listed(std::move(verdict.contradictions))};
    return combined;
  }
  for (size_t i = 0; i < views.size(); ++i) combined.facts.members[i].ranks = verdict.ranks[i];
  combined.facts.minimum_batch = least->batch;
  combined.facts.minimum_device = least->uuid;
  return combined;
}

}  // namespace autobatch
