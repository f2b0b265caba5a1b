#include "autobatch/probe/node_summary.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/report/words.h"

namespace autobatch {
namespace {

// The least answer over all devices but `without`; absent when one of them has none.
std::optional<int64_t> Minimum(const NodeReport& report, const DeviceResult* without) {
  std::optional<int64_t> minimum;
  for (const DeviceResult& result : report.devices) {
    if (&result == without) continue;
    const std::optional<int64_t> answer = AnswerBatch(result);
    if (!answer.has_value()) return std::nullopt;
    minimum = std::min(minimum.value_or(*answer), *answer);
  }
  return minimum;
}

// No answer is less than any answer; of devices with a common answer, one of them set it.
const DeviceResult* Least(const NodeReport& report) {
  const auto order = [](const DeviceResult& result) {
    return std::pair(AnswerBatch(result).value_or(0), result.bound == BatchBound::kOtherDevice);
  };
  const auto least = std::min_element(
      report.devices.begin(), report.devices.end(),
      [&](const DeviceResult& a, const DeviceResult& b) { return order(a) < order(b); });
  return least == report.devices.end() ? nullptr : &*least;
}

int ExitCodeOf(const DeviceResult& result) {
  if (AnswerBatch(result).has_value()) return kExitOk;
  if (!result.failure.has_value()) return kExitInternal;
  switch (result.failure->kind) {
    case FailureKind::kOutOfMemory:
    case FailureKind::kSuspectedOutOfMemory:
    case FailureKind::kHostOutOfMemory:
      return kExitNothingFits;
    case FailureKind::kTimeout:
      return kExitTimeLimit;
    default:
      return kExitCannotRun;
  }
}

// Ranks of the command in one trial of its answer on this device, as they said themselves; 0: none.
int64_t RanksOn(const DeviceResult& result) {
  int64_t ranks = 0;
  for (const Observation& seen : result.observations) {
    if (seen.ok() && seen.trial.batch == result.confirmed_batch) ranks = seen.ranks.value_or(0);
  }
  return ranks;
}

// What the global batch counts, where a command has ranks of its own: those asked about, else those
// that its launcher starts, else those that spoke.
void CountRanks(const ProbeSpec& spec, NodeReport& report) {
  int64_t most = 0;
  int64_t all = 0;
  for (const DeviceResult& result : report.devices) {
    most = std::max(most, RanksOn(result));
    all += RanksOn(result);
  }
  const bool node = spec.scope == TrialScope::kNode;
  // In a trial of one device, which has one rank at least, one alone says nothing of the job.
  const int64_t spoke = node ? all : most;
  const bool differs = node ? spoke != static_cast<int64_t>(report.devices.size()) : spoke > 1;
  report.world_size = spec.world_size;
  if (report.world_size.has_value()) return;
  std::string words;
  if (spec.launched.has_value()) {
    report.world_size = spec.launched->ranks;
    words =
        absl::StrCat("the ", *report.world_size,
                     *report.world_size == 1 ? " rank of " : " ranks of ", spec.launched->words);
  } else if (spoke > 0 && differs) {
    report.world_size = spoke;
    words = absl::StrCat("the ", spoke, " ranks that the command started");
  } else {
    return;
  }
  if (*report.world_size == 1) {
    if (report.devices.size() > 1) {
      report.warnings.push_back(
          absl::StrCat("the global batch counts ", words, ", not the ", report.devices.size(),
                       " devices probed; --world-size says how many ranks will train"));
    }
    return;
  }
  if (node) return;
  const bool on_gpus = std::all_of(
      report.devices.begin(), report.devices.end(),
      [](const DeviceResult& result) { return result.device.kind != DeviceKind::kCpu; });
  report.warnings.push_back(absl::StrCat(
      "the global batch counts ", words,
      ": in each trial they shared one device, and the batch is what each of them may load there",
      on_gpus ? "; --scope node runs them on all devices, as they train" : ""));
}

// Samples that one rank's last batch of an epoch has; 0: it is a full one.
int64_t LastBatch(int64_t dataset_size, int64_t world_size, int64_t batch) {
  return (dataset_size / world_size) % batch;
}

}  // namespace

void Summarize(const ProbeSpec& spec, NodeReport& report) {
  report.scope = spec.scope;
  CountRanks(spec, report);
  report.accumulation = spec.accumulation;
  report.minimum_batch = Minimum(report, nullptr);
  if (const DeviceResult* least = Least(report); least != nullptr) {
    report.minimum_device = least->device.uuid;
    // What the others would do without it, no trial of all of them has shown.
    if (spec.scope == TrialScope::kDevice) report.minimum_without_it = Minimum(report, least);
  }
  report.exit_code = report.devices.empty() ? kExitNoDevice : kExitOk;
  for (const DeviceResult& result : report.devices) {
    report.simulated |= result.device.simulated;
    report.exit_code = std::max<int64_t>(report.exit_code, ExitCodeOf(result));
  }
  const int64_t world_size =
      report.world_size.value_or(static_cast<int64_t>(report.devices.size()));
  if (report.minimum_batch.has_value() && spec.dataset_size.has_value() && world_size > 0 &&
      LastBatch(*spec.dataset_size, world_size, *report.minimum_batch) == 1) {
    report.warnings.push_back(absl::StrCat(
        "with batch ", *report.minimum_batch, " the last batch of an epoch has a single sample (",
        *spec.dataset_size, " samples over ", world_size,
        " ranks), which batch norm cannot train on: drop the last batch (drop_last)"));
  }
}

}  // namespace autobatch
