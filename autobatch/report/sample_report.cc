#include "autobatch/report/sample_report.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autobatch/base/units.h"

namespace autobatch {
namespace {

constexpr int64_t kTotal = 24 * kGiB;
constexpr int64_t kBudget = 21 * kGiB;
constexpr int64_t kFloor = 1200 * kMiB;

Observation Trial(TrialPurpose purpose, int64_t batch, int64_t peak_bytes) {
  Observation observation;
  observation.trial = {.purpose = purpose, .batch = batch, .steps = 3};
  observation.budget_bytes = kBudget;
  observation.batch_seen = batch;
  if (peak_bytes > kBudget) {
    observation.failure = Failure{.kind = FailureKind::kOutOfMemory,
                                  .message = "tried to allocate 512.0 MiB",
                                  .phase = TrialPhase::kBackward,
                                  .step = 2,
                                  .requested_bytes = 512 * kMiB};
    peak_bytes = kBudget - 300 * kMiB;
  } else {
    observation.step_ms = 8 + 1.25 * static_cast<double>(batch);
  }
  observation.steady = MemoryPeak{.reserved_bytes = peak_bytes, .allocated_bytes = peak_bytes / 2};
  observation.trial_ms = 900;
  observation.method = "worker";
  return observation;
}

}  // namespace

DeviceResult ConfirmedResult(int64_t index, int64_t batch) {
  // The line through the budget at `batch` and a half.
  const double slope = static_cast<double>(kBudget - 800 * kMiB) / (static_cast<double>(batch) + 1);
  const auto peak = [&](int64_t at) {
    const double line = 800.0 * kMiB + slope * static_cast<double>(at);
    // Stairs of 2 MiB, as the allocator's segments make them.
    return std::max(kFloor, static_cast<int64_t>(line) / (2 * kMiB) * (2 * kMiB));
  };
  DeviceResult result;
  result.device = {.uuid = absl::StrCat("GPU-5a09c2f1-0000-4000-8000-00000000000", index),
                   .kind = DeviceKind::kCuda,
                   .name = "NVIDIA GeForce RTX 3090",
                   .address = absl::StrCat("cuda:", index),
                   .visible_index = index,
                   .physical_ordinal = index + 2,
                   .pci_bus_id = absl::StrCat("0000:0", index + 1, ":00.0"),
                   .compute_capability = "8.6",
                   .origin = absl::StrCat("CUDA_VISIBLE_DEVICES entry ", index + 1)};
  result.device.memory = {.total_bytes = kTotal, .free_bytes = kTotal - 700 * kMiB};
  result.status = ResultStatus::kConfirmed;
  result.confirmed_batch = batch;
  result.bound = BatchBound::kMemory;
  result.budget_bytes = kBudget;
  result.margins = {{"headroom", 492 * kMiB, MarginSource::kDefault, "2 % of the total"},
                    {"communicator", kGiB, MarginSource::kDefault, "NCCL, until it is measured"}};
  result.peak_bytes = peak(batch);
  result.headroom_bytes = kBudget - peak(batch);
  for (int64_t at = 1; at < batch; at *= 4) {
    result.observations.push_back(Trial(TrialPurpose::kExplore, at, peak(at)));
  }
  result.observations.push_back(Trial(TrialPurpose::kExplore, batch + 4, peak(batch + 4)));
  result.observations.push_back(Trial(TrialPurpose::kConfirm, batch, peak(batch)));
  result.step_ms = result.observations.back().step_ms;
  result.samples_per_second = static_cast<double>(batch) * 1000 / *result.step_ms;
  result.smallest_failing_batch = batch + 4;
  result.fit = FitSummary{.floor_bytes = static_cast<double>(kFloor),
                          .intercept_bytes = 800.0 * kMiB,
                          .slope_bytes_per_sample = slope,
                          .band_bytes = 180.0 * kMiB,
                          .points = 4};
  return result;
}

DeviceResult FailedResult(int64_t index) {
  DeviceResult result;
  result.device = ConfirmedResult(index, 16).device;
  Observation& observation = result.observations.emplace_back();
  observation.trial.batch = 1;
  observation.failure =
      Failure{.kind = FailureKind::kModelError,
              .message = "expected more than 1 value per channel when training",
              .advice = "batch norm needs two samples: see --min-batch",
              .phase = TrialPhase::kForward,
              .step = 1,
              .stderr_tail = "Traceback (most recent call last):\n  in forward\n"};
  result.failure = observation.failure;
  result.bound = BatchBound::kFailure;
  result.smallest_failing_batch = 1;
  return result;
}

DeviceResult PartialResult() {
  DeviceResult result;
  result.device = {
      .uuid = "CPU-node7-0", .kind = DeviceKind::kCpu, .name = "Xeon 樹", .address = "cpu"};
  result.device.memory = {.total_bytes = 16 * kGiB,
                          .free_bytes = 9 * kGiB,
                          .others = {{.pid = 4242, .bytes = std::nullopt, .name = "python"}}};
  result.status = ResultStatus::kPartial;
  result.bound = BatchBound::kTimeLimit;
  result.confirmed_batch = 4;
  result.budget_bytes = 2 * kGiB;
  result.peak_bytes = 612 * kMiB;
  result.headroom_bytes = 2 * kGiB - 612 * kMiB;
  result.step_ms = 1234.5;
  result.samples_per_second = 3.24;
  Observation observation = Trial(TrialPurpose::kConfirm, 4, 612 * kMiB);
  observation.budget_bytes = result.budget_bytes;
  observation.step_ms = result.step_ms;
  result.observations = {observation};
  result.failure = Failure{.kind = FailureKind::kTimeout,
                           .message = "the time limit of 120 s ended the search",
                           .advice = "raise --time-limit"};
  return result;
}

NodeReport ReportOf(std::vector<DeviceResult> devices) {
  NodeReport report;
  report.host = {.date = "2026-11-30T15:38:00+00:00",
                 .host = "node7",
                 .autobatch_version = "0.1.0",
                 .libtorch_version = "2.11.0",
                 .cuda_version = "13.0",
                 .driver_version = "580.65.06",
                 .nccl_version = "2.28.9",
                 .cuda_visible_devices = "2,3"};
  report.devices = std::move(devices);
  std::vector<std::pair<int64_t, std::string>> order;
  for (const DeviceResult& result : report.devices) {
    order.emplace_back(result.confirmed_batch.value_or(result.estimated_batch.value_or(0)),
                       result.device.uuid);
    report.simulated = report.simulated || result.device.simulated;
  }
  std::sort(order.begin(), order.end());
  if (!order.empty()) {
    if (order[0].first > 0) report.minimum_batch = order[0].first;
    report.minimum_device = order[0].second;
    if (order.size() > 1 && order[1].first > 0) report.minimum_without_it = order[1].first;
  }
  return report;
}

NodeReport HostileReport() {
  const std::string hostile(kHostile);
  DeviceResult result = ConfirmedResult(0, 16);
  result.device.uuid = result.device.name = result.device.address = result.device.origin = hostile;
  result.device.pci_bus_id = result.device.compute_capability = hostile;
  result.device.memory.others = {{.pid = 1, .bytes = kGiB, .name = hostile}};
  result.shared_search_with = hostile;
  result.warnings = result.log = {hostile};
  for (Margin& margin : result.margins) margin.name = margin.note = hostile;
  result.failure = Failure{.message = hostile, .advice = hostile, .stderr_tail = hostile};
  for (Observation& observation : result.observations) {
    observation.method = hostile;
    observation.input_shapes = observation.output_shapes = {hostile};
    if (observation.failure.has_value()) observation.failure = result.failure;
  }
  NodeReport report = ReportOf({result});
  HostFacts& host = report.host;
  host.date = host.host = host.autobatch_version = hostile;
  host.libtorch_version = host.cuda_version = host.driver_version = hostile;
  host.nccl_version = host.command_framework = host.cuda_visible_devices = hostile;
  report.workload.name = report.workload.loss = hostile;
  report.workload.command = report.warnings = {hostile};
  report.workload.inputs = {{.dtype = hostile}};
  report.schema = hostile;
  return report;
}

}  // namespace autobatch
