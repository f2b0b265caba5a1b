#include "autobatch/probe/node_summary.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace autobatch {
namespace {

// The least answer over all devices but `without`; absent when one of them has none.
std::optional<int64_t> Minimum(const NodeReport& report, const DeviceResult* without) {
  std::optional<int64_t> minimum;
  for (const DeviceResult& result : report.devices) {
    if (&result == without) continue;
    const std::optional<int64_t> answer = AnswerOf(result);
    if (!answer.has_value()) return std::nullopt;
    minimum = std::min(minimum.value_or(*answer), *answer);
  }
  return minimum;
}

// No answer is less than any answer.
const DeviceResult* Least(const NodeReport& report) {
  const auto least = std::min_element(report.devices.begin(), report.devices.end(),
                                      [](const DeviceResult& a, const DeviceResult& b) {
                                        return AnswerOf(a).value_or(0) < AnswerOf(b).value_or(0);
                                      });
  return least == report.devices.end() ? nullptr : &*least;
}

int ExitCodeOf(const DeviceResult& result) {
  if (AnswerOf(result).has_value()) return kExitOk;
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

// Samples that one rank's last batch of an epoch has; 0: it is a full one.
int64_t LastBatch(int64_t dataset_size, int64_t world_size, int64_t batch) {
  return (dataset_size / world_size) % batch;
}

}  // namespace

std::optional<int64_t> AnswerOf(const DeviceResult& result) {
  return result.confirmed_batch.has_value() ? result.confirmed_batch : result.estimated_batch;
}

void Summarize(const ProbeSpec& spec, NodeReport& report) {
  report.world_size = spec.world_size;
  report.accumulation = spec.accumulation;
  report.minimum_batch = Minimum(report, nullptr);
  if (const DeviceResult* least = Least(report); least != nullptr) {
    report.minimum_device = least->device.uuid;
    report.minimum_without_it = Minimum(report, least);
  }
  report.exit_code = report.devices.empty() ? kExitNoDevice : kExitOk;
  for (const DeviceResult& result : report.devices) {
    report.simulated |= result.device.simulated;
    report.exit_code = std::max<int64_t>(report.exit_code, ExitCodeOf(result));
  }
  const int64_t world_size = WorldSize(spec, static_cast<int64_t>(report.devices.size()));
  if (report.minimum_batch.has_value() && spec.dataset_size.has_value() && world_size > 0 &&
      LastBatch(*spec.dataset_size, world_size, *report.minimum_batch) == 1) {
    report.warnings.push_back(absl::StrCat(
        "with batch ", *report.minimum_batch, " the last batch of an epoch has a single sample (",
        *spec.dataset_size, " samples over ", world_size,
        " ranks), which batch norm cannot train on: drop the last batch (drop_last)"));
  }
}

}  // namespace autobatch
