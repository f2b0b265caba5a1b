#include "autobatch/trial/node_verdict.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "autobatch/trial/classify.h"
#include "autobatch/types/failure.h"

namespace autobatch {
namespace {

bool Ran(const Observation& seen) { return seen.PeakReserved() > 0 || seen.ranks.value_or(0) > 0; }

}  // namespace

TrialSpec Strictest(std::span<const TrialSpec> specs) {
  TrialSpec strictest = specs.front();
  for (const TrialSpec& spec : specs) {
    strictest.reserve_bytes = std::max(strictest.reserve_bytes, spec.reserve_bytes);
    if (spec.limit_bytes.has_value()) {
      strictest.limit_bytes =
          std::min(strictest.limit_bytes.value_or(*spec.limit_bytes), *spec.limit_bytes);
    }
  }
  return strictest;
}

void CheckDevices(std::span<const Device> devices, int64_t ranks, NodeObservation& seen) {
  const auto ran =
      static_cast<size_t>(std::count_if(seen.devices.begin(), seen.devices.end(), Ran));
  const bool failed = std::any_of(seen.devices.begin(), seen.devices.end(),
                                  [](const Observation& device) { return !device.ok(); });
  // Where no memory can be seen at all nothing follows from that.
  if (failed || ran == 0) return;
  if (ran < devices.size()) {
    const auto idle = std::find_if_not(seen.devices.begin(), seen.devices.end(), Ran);
    idle->failure = Failure{
        .kind = FailureKind::kModelError,
        .message = absl::StrCat("nothing ran there: the command used ", ran, " of ", devices.size(),
                                " devices"),
        .advice = absl::StrCat("start one rank for each device (torchrun --nproc-per-node=",
                               devices.size(), "), or name with --device those that it is to use")};
    return;
  }
  if (ranks > 0 && ranks != static_cast<int64_t>(devices.size())) {
    seen.devices.front().warnings.push_back(
        absl::StrCat("ranks and devices differ in number: ", ranks, " ranks reported from ",
                     devices.size(), " devices"));
  }
}

void SpreadFailure(std::span<const Device> devices, const std::string& stderr_tail,
                   NodeObservation& seen) {
  if (seen.devices[seen.failed].ok()) {
    const auto failed = std::find_if(seen.devices.begin(), seen.devices.end(),
                                     [](const Observation& device) { return !device.ok(); });
    if (failed == seen.devices.end()) return;
    seen.failed = failed - seen.devices.begin();
  }
  Failure failure = *seen.devices[seen.failed].failure;
  if (failure.advice.empty()) failure.advice = AdviceFor(failure.kind);
  if (failure.stderr_tail.empty()) failure.stderr_tail = stderr_tail;
  if (devices.size() > 1) {
    failure.message = absl::StrCat(devices[seen.failed].address, ": ", failure.message);
  }
  for (Observation& device : seen.devices) device.failure = failure;
}

}  // namespace autobatch
